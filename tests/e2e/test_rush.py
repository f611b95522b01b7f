# SPDX-License-Identifier: Apache-2.0
"""Far more clients than seats, all at the same moment: exactly so many win as there are seats, and
everybody is told. And again with the server killed in the middle of it."""

import asyncio
import random

import pytest

from raw_client import Client, encode, fields
from rush import connect, hang_up
from server import Server

MIXES = {"resp": (1, 0), "http": (0, 1), "both": (1, 1)}


def run(coroutine):
    """Runs to the end; an assertion or a connection that breaks is the test's failure."""
    return asyncio.run(asyncio.wait_for(coroutine, 300))


@pytest.fixture(scope="module", params=["memory", "durable"])
def server(request):
    with Server(memory=request.param == "memory") as one:
        yield one


async def rush(server, clients, seats, rounds, mix):
    resp, http = MIXES[mix]
    everybody = await connect(server, clients * resp // (resp + http), clients * http // (resp + http))
    for number in range(rounds):
        event = f"{mix}-{clients}-{seats}-{number}"
        assert server.call("SEATS.OPEN", event, "floor", seats) == [1, seats, seats]
        random.shuffle(everybody)
        won = await asyncio.gather(*(
            client.reserve(event, "floor", f"b{i}", f"u{i}") for i, client in enumerate(everybody)))
        assert sum(won) == seats
        zone = fields(server.call("SEATS.ZONE", event, "floor"))
        assert zone == {"capacity": seats, "available": 0, "reserved": seats, "confirmed": 0}
        with Client(server.resp_port) as asking:
            for i in random.sample(range(len(everybody)), 20):
                got = asking.call("SEATS.GET", event, f"b{i}")
                assert (got[0] == "booking_id") == won[i], got
    hang_up(everybody)


@pytest.mark.parametrize("mix", MIXES)
def test_500_clients_for_one_seat(server, build, mix):
    run(rush(server, 500, 1, 3 if build.sanitized else 10, mix))
    assert server.call("AUDIT") == [1, 0]


@pytest.mark.parametrize("mix", MIXES)
def test_100_clients_for_ten_seats(server, build, mix):
    run(rush(server, 100, 10, 10 if build.sanitized else 30, mix))
    assert server.call("AUDIT") == [1, 0]


async def buy(server, clients, mix):
    """The same with stock and with slots, which have other ways to say no."""
    resp, _ = MIXES[mix]
    everybody = await connect(server, clients * resp)
    server.call("STOCK.LOAD", f"stock-{mix}", 10)
    took = await asyncio.gather(*(client.call("STOCK.TAKE", f"stock-{mix}", f"o{i}", f"u{i}", 1)
                                  for i, client in enumerate(everybody)))
    assert sum(one[0] for one in took) == 10
    assert all(one[1] == "SOLD_OUT" for one in took if one[0] == 0)
    slots = await asyncio.gather(*(client.call("SEM.ACQUIRE", f"sem-{mix}", f"c{i}", 10)
                                   for i, client in enumerate(everybody)))
    assert sum(one[0] for one in slots) == 10
    assert len({one[2] for one in slots if one[0] == 1}) == 10, "each has a fence of its own"
    locks = await asyncio.gather(*(client.call("LOCK.TRY", f"lock-{mix}", 60, "ID", f"c{i}")
                                   for i, client in enumerate(everybody)))
    assert sum(one is not None for one in locks) == 1
    hang_up(everybody)


def test_500_clients_for_stock_slots_and_a_lock(server):
    run(buy(server, 500, "resp"))
    assert server.call("AUDIT") == [1, 0]


# ---- killed in the middle -----------------------------------------------------------------------

class Sale:
    """Zones of one seat each, sold one after the other to whoever asks first."""

    ZONES, CLIENTS = 200, 40

    def __init__(self, server, event):
        self.server, self.event = server, event
        self.winners = {}   # zone: booking, as acknowledged
        self.codes = {}     # booking: confirmation code, as acknowledged
        self.answers = 0
        with Client(server.resp_port) as client:
            for zone in range(self.ZONES):
                client.send("SEATS.OPEN", event, f"z{zone}", 1)
            for _ in range(self.ZONES):
                assert client.read() == [1, 1, 1]

    async def one_client(self, client, number, kill_at):
        try:
            for zone in range(self.ZONES):
                booking = f"z{zone}-c{number}"
                if await client.reserve(self.event, f"z{zone}", booking, f"u{number}-{zone}"):
                    assert zone not in self.winners, f"z{zone} was sold twice"
                    self.winners[zone] = booking
                    if zone % 2 == 0:
                        self.codes[booking] = await client.confirm(self.event, booking)
                self.answers += 1
                if self.answers == kill_at:
                    self.server.kill()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # what was under way is neither promised nor refused

    async def run(self, kill_at, http):
        clients = await connect(self.server, self.CLIENTS, http)
        await asyncio.gather(*(self.one_client(client, number, kill_at)
                               for number, client in enumerate(clients)))
        hang_up(clients)

    def check(self):
        """All that was promised is there, and nothing is there twice."""
        with Client(self.server.resp_port) as client:
            for zone in range(self.ZONES):
                totals = fields(client.call("SEATS.ZONE", self.event, f"z{zone}"))
                sold = totals["reserved"] + totals["confirmed"]
                assert totals["available"] + sold == 1
                names = [f"z{zone}-c{number}" for number in range(self.CLIENTS * 2)]
                client.send_raw(b"".join(encode("SEATS.GET", self.event, name) for name in names))
                found = [name for name in names if client.read()[0] == "booking_id"]
                assert len(found) == sold <= 1
                if zone in self.winners:
                    assert found == [self.winners[zone]]
            for booking, code in self.codes.items():
                assert fields(client.call("SEATS.GET", self.event, booking))[
                    "confirmation_code"] == code
            assert client.call("AUDIT") == [1, 0]


@pytest.mark.parametrize("http", [0, Sale.CLIENTS])
def test_killed_in_the_middle_of_a_rush(build, holdfast, http):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with Server() as server:
        for number in range(2 if build.sanitized else 5):
            sale = Sale(server, f"sale-{number}")
            total = sale.ZONES * (sale.CLIENTS + http)
            run(sale.run(chance.randrange(1, total // 2), http))
            assert sale.winners, "it was killed before anything was sold"
            ended = holdfast("audit", server.directory)
            assert ended.code == 0, ended
            server.start()
            sale.check()
