# SPDX-License-Identifier: Apache-2.0
"""Many clients at once, in one process: each a connection, all of them waiting for the same start."""

import asyncio
import json
import random

from raw_client import encode, request


async def read_resp(reader):
    """One reply in RESP2; an error line as text that begins with a minus."""
    line = await reader.readuntil(b"\r\n")
    kind, rest = line[:1], line[1:-2]
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if rest == b"-1" else (await reader.readexactly(int(rest) + 2))[:-2].decode()
    if kind == b"*":
        return None if rest == b"-1" else [await read_resp(reader) for _ in range(int(rest))]
    return line[:-2].decode()


async def read_http(reader):
    """Status and JSON of one answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    size = int(head.split("content-length:")[1].split("\r\n")[0])
    return int(head.split()[1]), json.loads(await reader.readexactly(size) or b"null")


class RespClient:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def call(self, *words):
        self.writer.write(encode(*words))
        return await read_resp(self.reader)

    async def reserve(self, event, zone, booking, user):
        """True if it got the seat, False if there was none left."""
        got = await self.call("SEATS.RESERVE", event, zone, booking, user, 1, 1)
        assert got[0] == 1 or got[1] == "INSUFFICIENT_STOCK", got
        return got[0] == 1

    async def confirm(self, event, booking):
        """The confirmation code."""
        one, status, code = await self.call("SEATS.CONFIRM", event, booking)
        assert (one, status) == (1, "CONFIRMED")
        return code


class HttpClient:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def reserve(self, event, zone, booking, user):
        self.writer.write(request("POST", f"/v1/events/{event}/bookings", {
            "zone_id": zone, "booking_id": booking, "user_id": user, "quantity": 1,
            "max_per_user": 1}))
        status, body = await read_http(self.reader)
        assert status == 201 or (status, body["error"]["code"]) == (409, "INSUFFICIENT_STOCK"), body
        return status == 201

    async def confirm(self, event, booking):
        self.writer.write(request("POST", f"/v1/events/{event}/bookings/{booking}/confirm", {}))
        status, body = await read_http(self.reader)
        assert status == 200, body
        return body["confirmation_code"]


async def connect(server, resp=0, http=0):
    """So many clients of each protocol, mixed."""
    kinds = [(server.resp_port, RespClient)] * resp + [(server.http_port, HttpClient)] * http
    random.shuffle(kinds)
    clients = []
    for port, kind in kinds:
        clients.append(kind(*await asyncio.open_connection("127.0.0.1", port)))
    return clients


def hang_up(clients):
    for client in clients:
        client.writer.close()
