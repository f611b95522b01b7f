# SPDX-License-Identifier: Apache-2.0
"""What goes out and what comes back at the booking service, by those who mean no good: ids that look
like headers, paths or JSON, rows of the ledger that somebody else has written, peers that drip, and
callbacks that are forged, replayed, too large, or many."""

import concurrent.futures
import json
import socket
import threading
import time

import pytest

from box_office import EVENT, SECRETS, ZONE, checkout, outcome, saga
from payment_peer import SECRET, PaymentPeer, sign
from raw_client import Http, http
from server import Server, wait_until
from test_checkout_peer import office, pending  # noqa: F401 (a fixture)
from webhook_receiver import Receiver

CALLBACK = "/v1/payments/callback"
# Ids as the contract allows them: no spaces, control characters or braces.
ODD_IDS = ["../../admin", "a?b=c&d#e", "%0d%0aX-Evil:1", '","amount":1,"x":"', "é\u202ex", "a/b//c",
           "<script>", "';DROP/**/TABLE/**/sagas;--", "\\u0022", "$(id)", "@127.0.0.1:1"]
PATIENCE_S = 60


class Seen:
    """What a peer was asked, byte by byte: it keeps what it reads and answers 503."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.heads = []
        threading.Thread(target=self.run, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                data = client.recv(1 << 16)
                self.heads.append(data.partition(b"\r\n\r\n")[0].decode("latin-1"))
                client.sendall(b"HTTP/1.1 503 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


# ---- out -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("odd", ODD_IDS)
def test_odd_ids_reach_the_receiver_as_they_are(tmp_path, odd):
    """As event, zone, booking and user; what is told of them is one JSON document, signed."""
    with Receiver() as receiver, Server(
            "--webhook-url", receiver.url, "--payment-url", "test:", "--ledger",
            f"sqlite:{tmp_path / 'ledger.db'}",
            env={**SECRETS, "HOLDFAST_WEBHOOK_SECRET": receiver.secret}) as server:
        server.call("SEATS.OPEN", odd, odd, 10)
        answer = server.call("SEATS.CHECKOUT", odd, odd, odd, 1, 4, "BOOKING", odd, "SAGA", odd,
                             "PRICE", 100, "WAIT", 30000, timeout=PATIENCE_S)
        assert outcome(answer) == "COMPLETED", answer
        wait_until(lambda: "booking.confirmed" in receiver.of(odd), "it is told", PATIENCE_S)
        assert receiver.forged == 0
        for headers, body in receiver.raw:
            assert "x-evil" not in headers
            data = json.loads(body)["data"]
            assert (data["event_id"], data["booking_id"], data["user_id"]) == (odd, odd, odd)


@pytest.mark.parametrize("written", ["../../admin?x=", "p\r\nX-Evil: 1", "p q", "é", "a/b", "x" * 128])
def test_a_payment_id_that_somebody_wrote_into_the_ledger(office, written):  # noqa: F811
    """It is one segment of the path and no header of its own, or nothing is sent."""
    with Seen() as peer:
        peer.callback_ports = []
        shop, server = office(peer, "--saga-lease", "200ms")
        assert outcome(checkout(server, "b1", wait_ms=200)) == "PAYING"
        server.stop()
        shop.rows("UPDATE sagas SET payment_id = ?, due_at = 0, owner = ''", written)
        before = len(peer.heads)
        server.start()
        wait_until(lambda: len(peer.heads) > before or saga(server, "s-b1")["status"] != "PAYING" or
                   int(saga(server, "s-b1").get("attempts", 0)) > 2, "it is asked for", PATIENCE_S)
        server.stop()
        for head in peer.heads[before:]:
            request, *headers = head.split("\r\n")
            assert request.split(" ")[1].startswith("/payments"), head
            assert request.count("/") - request.count("HTTP/") <= 3 and "?" not in request, head
            assert not any(line.lower().startswith("x-evil") for line in headers), head
        server.start()


def test_a_peer_that_drips_holds_up_nobody(office):  # noqa: F811
    """A byte now and then, for ever: the timeout is that of the whole answer."""
    stopped = threading.Event()

    def drip(listener):
        while not stopped.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=drops, args=(client,), daemon=True).start()

    def drops(client):
        with client:
            try:
                client.recv(1 << 16)
                for byte in b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000:
                    client.sendall(bytes([byte]))
                    if stopped.wait(0.05):
                        return
            except OSError:
                pass

    class Dripping:
        pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = Dripping()
        peer.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        threading.Thread(target=drip, args=(listener,), daemon=True).start()
        _, server = office(peer, "--payment-retries", "2")
        assert outcome(checkout(server, "b1")) == "NEEDS_ATTENTION"
        assert server.call("SEATS.ZONE", EVENT, ZONE)[0] != 0
        stopped.set()
        listener.shutdown(socket.SHUT_RDWR)


# ---- in --------------------------------------------------------------------------------------------

def signed(body, message="m", at=None, secret=SECRET):
    at = str(int(time.time())) if at is None else at
    return ["Content-Type: application/json", f"webhook-id: {message}", f"webhook-timestamp: {at}",
            f"webhook-signature: {sign(secret, message, at, body)}"]


def call_back(server, body, headers):
    return http(server.http_port, "POST", CALLBACK, body, headers).status


def test_callbacks_that_are_not_the_peers(office):  # noqa: F811
    with PaymentPeer(pending, settles=False) as peer:
        _, server = office(peer)
        checkout(server, "b1", wait_ms=200)
        body = json.dumps({"payment_id": saga(server, "s-b1")["payment_id"]}).encode()
        now = str(int(time.time()))
        right = signed(body)[-1].partition(",")[2]
        empty_key = sign("whsec_", "m", now, body)
        for headers in (
                [], ["webhook-id: m"], ["webhook-id: m", f"webhook-timestamp: {now}"],
                [f"webhook-id: m", f"webhook-timestamp: {now}", "webhook-signature: "],
                [f"webhook-id: m", f"webhook-timestamp: {now}", f"webhook-signature: {right}"],
                [f"webhook-id: m", f"webhook-timestamp: {now}", f"webhook-signature: v2,{right}"],
                [f"webhook-id: m", f"webhook-timestamp: {now}", f"webhook-signature: v1,{right[:-4]}"],
                [f"webhook-id: m", f"webhook-timestamp: {now}", f"webhook-signature: {empty_key}"],
                [f"webhook-id: M", f"webhook-timestamp: {now}", signed(body, at=now)[-1]],
                signed(body, at="-1"), signed(body, at="0"), signed(body, at="1e9"),
                signed(body, at="9" * 15), signed(body, at="9" * 30), signed(body, at="0x10"),
                ["webhook-id: m", f"webhook-timestamp: {now}",
                 "webhook-signature: " + "v1,A " * 2000]):
            assert call_back(server, body, headers) == 401, headers
        assert call_back(server, body, ["Authorization: Bearer x"]) == 401
        assert call_back(server, body, signed(body, message="m-1")) == 202
        assert call_back(server, body, signed(body, message="m-1")) == 422, "replayed"
        for bad in (b"", b"[]", b"{}", b'{"payment_id":1}', b'{"payment_id":"a b"}', b"\xff",
                    b'{"payment_id":"\\u0000"}', b'{"payment_id":' + b"[" * 5000):
            assert call_back(server, bad, signed(bad, message="m-2")) == 400, bad
        long = "m" * 8000
        assert call_back(server, body, signed(body, message=long)) in (400, 431)
        assert saga(server, "s-b1")["status"] == "PAYING"
        peer.settles = True
        assert saga(server, "s-b1", 60000)["status"] == "COMPLETED"


def test_without_a_secret_no_callback_is_believed():
    with Server("--payment-url", "test:") as server:
        body = b'{"payment_id":"p"}'
        for secret in ("whsec_", SECRET):
            assert call_back(server, body, signed(body, secret=secret)) == 401


def test_a_flood_of_forged_callbacks(office):  # noqa: F811
    """Each is refused for what it is; the one that is signed comes through, and nobody waits."""
    with PaymentPeer(pending, settles=False) as peer:
        _, server = office(peer)
        checkout(server, "b1", wait_ms=200)
        payment = saga(server, "s-b1")["payment_id"]
        forged = json.dumps({"payment_id": payment, "x": "x" * 15_000}).encode()

        def flood(number):
            with Http(server.http_port) as web:
                return {web.call("POST", CALLBACK, forged, signed(forged, f"f-{number}-{i}", secret=
                                 "whsec_" + "A" * 32)).status for i in range(50)}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            floods = [pool.submit(flood, number) for number in range(8)]
            assert peer.call_back(payment, message="right") == 202
            assert server.call("SEATS.ZONE", EVENT, ZONE)[0] != 0
            assert {status for each in floods for status in each.result()} == {401}
        assert status_of_large(server, b"x" * (3 << 20)) in (401, 413)
        assert server.process.poll() is None


def status_of_large(server, body):
    """It may be answered, and the connection closed, before all of it was sent."""
    with Http(server.http_port) as web:
        try:
            web.send("POST", CALLBACK, body, signed(body))
        except ConnectionError:
            pass
        return web.read_head()[0]
