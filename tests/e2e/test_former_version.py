# SPDX-License-Identifier: Apache-2.0
"""Directories that former versions wrote start, and go on as any other. Version 1 of the snapshot
was written before starts and the passing of time were recorded, version 2 before quota holds were
extended."""

import base64
import re
import zlib

import pytest

from harness import run
from server import Server

# By the version of their snapshot, each file as it was left, compressed.
FILES = {
    1: {
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
    },
    2: {
        "journal-00000000000000000001": (
            "c-r%D^YRZ3^5bG;fB+Z`0_vA?UYG;vXY*1|Ad7=Q<H5=&3xR^c)^>j<B-wkIue4U5@cH(dZ7)_`Ke{L5"
            "!vA|a`)6)oQwJ(F&GArUf@%X91)_VP+8G&{Inonz61mcH^7D&C%z#o$XRrOt3{?)&3Zi>q%9*&3l(Qx2"
            "8nPwk<*{%uFf`2fWUv9MymD6H77J82$RrRw0j8Uo1*{vUkF7x0u;9?NMHi=TOZfgmwB@*3$08-5djI^*"
            "r&*z9fXoBY6Jcg>GI1m(=K=#n87Qi2o&JOksuH9NMI{#tSS8R^8bIOB-~RmUP^BPkAbJv-Qa-i}UBd$_"
            "*;PP}Ul)<d0aXvu3!-Ph)bl_b0aC6B6la~Z@(Cx*(?ES7dM!+?3@b-*Mt*7v69ZRnYEgQs4p1^ixQ>Mj"
            "ssW@KM6ZKskcDVq%ZG;2fp@te2btcT%g+tf1JVzo*TeM4F~Rki0>wF9*pBkR;t;40L~nqpm0;#5PE9NU"
            "`jaX9TIXukh~2CYlqc_aA(WK1LlUSkn1fk`7pfU#5QyFl)f@s#e*of!uk-"
        ),
        "snapshot-00000000000000000007": (
            "c-r%D3-)si2<BpBU|{I{?a$B700DcU^l|TWj~S+d79RdSE^dy&Axul!&K=*AapC{Ho&7U6urXNM{hg3x"
            "?_s{uT7AOj+iSMHSatpAo(zy_3@qu1If)ElCIf3)PJVuo2m=e0&zzW-2jl<&BLfqNpQLLDWH-$BWMP;E"
            "wqXI7{LpfH%B)>W8JP=!@(@!KlXFu~Fxv1zxKGw!1uA3C&^6>cuoC8YWY9GsCmsORI6p%"
        ),
    },
}
CODES = {1: "EVWX8HVVZW", 2: "GKGD9H6TNM"}  # of the booking


class Former:
    def __init__(self, directory, version, with_snapshot):
        self.directory = directory
        self.code = CODES[version]
        directory.mkdir()
        for name, text in FILES[version].items():
            if name.startswith("journal") or with_snapshot:
                (directory / name).write_bytes(zlib.decompress(base64.b85decode(text)))

    def expect_state(self, server):
        booking = server.call("SEATS.GET", "gala", "b-1")
        assert dict(zip(booking[::2], booking[1::2]))["confirmation_code"] == self.code
        assert server.call("SEATS.ZONE", "gala", "floor")[1::2] == [10, 8, 0, 2]
        assert server.call("QUOTA.GET", "acme") == [37, 100, 0]
        assert server.call("STOCK.GET", "shoe")[1:6:2] == [47, 0, 3]


@pytest.fixture(params=["with its snapshot", "journal alone"])
def parts(request):
    return request.param


@pytest.fixture(params=sorted(FILES))
def former(request, parts, tmp_path):
    return Former(tmp_path / "data", request.param, parts == "with its snapshot")


def test_it_starts_with_all_it_had(former):
    with Server(directory=former.directory) as server:
        former.expect_state(server)
        assert server.call("LOCK.TRY", "another", 60)[1] > 2
        server.restart("kill")
        former.expect_state(server)
        assert server.call("SNAPSHOT") == "OK"
        server.restart()
        former.expect_state(server)
        assert server.call("AUDIT") == [1, 0]


def test_it_can_be_looked_at(former):
    with Server(directory=former.directory) as server:
        program = server.program
        server.stop()
        ended = run(program, "journal", "verify", former.directory)
        assert ended.code == 0, ended
        dumped = run(program, "journal", "dump", former.directory)
        assert dumped.code == 0 and re.search("SEATS.CONFIRM gala b-1 .*PAYMENT p-1", dumped.out)
        assert "# start " in dumped.out
