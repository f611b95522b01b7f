# SPDX-License-Identifier: Apache-2.0
"""A directory that was written before starts and the passing of time were recorded: a journal
without them, and a snapshot of version 1. It starts, and goes on as any other."""

import base64
import zlib

import pytest

from harness import run
from server import Server

# Each file as it was left, compressed.
FILES = {
    "journal-00000000000000000001": (
        "c-r%D^YRZ3^5bG;fB+Z`0_vA?UZ?|U<&Cd(ki|hjT;2HbLZBccBQr;OVooAgT26j`k%$>k>W%inYfMmO"
        "Agv%;5vH7p3rRU!lCB|JVqP8#2LnUHd`|{Tpvumv4-=W8x<Mv^9RkzM%mUU8(#OD7plg`-x$n`v`QLMI"
        "O=eVD61T!Y38*-7UP~4W)BuoSC<bscaU>?^rk-F_28vE^s(Q-`RSD7sqBUSDxmds|Z5S9dfx;QTcB!yI"
        "m4dW^Xib<>8CH(sjQrFTCI+tD)S~oMbD(5<&o_T|s0NT`5Umf>Ai>O0oSInD@L^LBOKxhyLX$0SH)EUq"
        "yviSMUe7%X6kwa%1QI!*+CfHvXeDi^c3FshZ26GTV>|FJ7i7Ng1v^Ggs2-4huy<g3<e1=kKwjq)T(g1;"
        "surXV>^yB$uk$f5SOA5O*H%5`hAIVV1JRb+aG!AHmt>?CLA|1U%(gZBn!fUrU)7awZ$8QdDg^*ahK|n"
    ),
    "snapshot-00000000000000000007": (
        "c-r%D3-)si2<BpBU|?wP`R32g00HZv^l|TWkBj$}J3ah;T-+RkLm2PPnYnpS1``8F0|QHXVooB2$-tVH"
        "lb>HC!oULMGbiTd0Xaax$iM{RC+Qjj*$wkOSr`t14LJuU-#yzs<=yY+jLZc<d5Ecr$+@W~7;T_V01Mvh"
        "In%l~gQYk%v4kl%6=r>LMt*7vkio=&1e7lNumJ#w3o)_"
    ),
}


@pytest.fixture(params=["with its snapshot", "journal alone"])
def former(request, tmp_path):
    directory = tmp_path / "data"
    directory.mkdir()
    for name, text in FILES.items():
        if name.startswith("journal") or request.param == "with its snapshot":
            (directory / name).write_bytes(zlib.decompress(base64.b85decode(text)))
    return directory


def expect_state(server):
    booking = server.call("SEATS.GET", "gala", "b-1")
    assert dict(zip(booking[::2], booking[1::2]))["confirmation_code"] == "EVWX8HVVZW"
    assert server.call("SEATS.ZONE", "gala", "floor")[1::2] == [10, 8, 0, 2]
    assert server.call("QUOTA.GET", "acme") == [37, 100, 0]
    assert server.call("STOCK.GET", "shoe")[1:6:2] == [47, 0, 3]


def test_it_starts_with_all_it_had(former):
    with Server(directory=former) as server:
        expect_state(server)
        assert server.call("LOCK.TRY", "another", 60)[1] > 2
        server.restart("kill")
        expect_state(server)
        assert server.call("SNAPSHOT") == "OK"
        server.restart()
        expect_state(server)
        assert server.call("AUDIT") == [1, 0]


def test_it_can_be_looked_at(former):
    with Server(directory=former) as server:
        program = server.program
        server.stop()
        ended = run(program, "journal", "verify", former)
        assert ended.code == 0, ended
        dumped = run(program, "journal", "dump", former)
        assert dumped.code == 0 and "SEATS.CONFIRM gala b-1 PAYMENT p-1" in dumped.out
        assert "# start " in dumped.out
