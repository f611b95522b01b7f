# SPDX-License-Identifier: Apache-2.0
"""A payment peer over HTTP, with a book of its own, that does what its faults say.

    with PaymentPeer(faults=lambda payment, verb, times: "ok") as peer: …

A fault is a word for each request, by the payment's id, the verb (charge, ask, refund) and how often
that was asked before:

    ok          does it and answers           declined    says no, for good
    pending     answers pending; the next question finds it paid
    silent      does it and never answers     lost        does nothing and never answers
    cut         does it and hangs up          refused     hangs up before anything
    500         does it and answers 500       503         does nothing and answers 503
    redirect    answers 302                   garbage     does it and answers no JSON
    large       does it and answers too much  other       answers about another payment
    slow        does it and answers late      twice       does it, and calls back twice
"""

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = "whsec_" + base64.b64encode(b"a secret of the tests, 32 bytes.").decode()
OLD_SECRET = "whsec_" + base64.b64encode(b"the secret before it, also here.").decode()
DONE = {"ok", "silent", "cut", "500", "garbage", "large", "other", "slow", "twice"}


def sign(secret, message, timestamp, body):
    """The header by the published scheme, written from its text."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


class Book:
    """What was charged and given back, once or more often."""

    def __init__(self):
        self.lock = threading.Lock()
        self.payments = {}
        self.asked = {}  # (payment, verb): times
        self.tokens = []  # of the charges that came
        self.unsigned = []
        self.requests = []  # (verb, headers) of all that came

    def times(self, payment, verb):
        with self.lock:
            self.asked[payment, verb] = self.asked.get((payment, verb), 0) + 1
            return self.asked[payment, verb] - 1

    def charge(self, payment, amount, status="succeeded"):
        with self.lock:
            if payment not in self.payments:
                self.payments[payment] = {"amount": amount, "status": status, "refunded": 0,
                                          "charged": int(status == "succeeded")}
            return self.payments[payment]["status"]

    def settle(self, payment):
        with self.lock:
            entry = self.payments[payment]
            if entry["status"] == "pending":
                entry.update(status="succeeded", charged=1)

    def refund(self, payment):
        with self.lock:
            entry = self.payments[payment]
            if entry["charged"] > entry["refunded"]:
                entry["refunded"] += 1
                entry["status"] = "refunded"
            return entry["status"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    @property
    def peer(self):
        return self.server.peer

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def check_signature(self, body):
        said = self.headers.get("webhook-signature", "").split()
        right = sign(SECRET, self.headers.get("webhook-id"), self.headers.get("webhook-timestamp"),
                     body)
        if self.peer.signed and right not in said:
            self.peer.book.unsigned.append(self.path)

    def answer(self, status, document=None, raw=None, headers=()):
        body = raw if raw is not None else json.dumps(document or {}).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def misbehave(self, fault, payment, status):
        """Answers, in the way of the fault."""
        if fault in ("silent", "lost"):
            self.peer.stopped.wait(self.peer.silence_s)
            self.hang_up()
        elif fault in ("cut", "refused"):
            self.hang_up()
        elif fault in ("500", "503"):
            self.answer(int(fault), {"status": "succeeded"})
        elif fault == "redirect":
            self.answer(302, headers=[("Location", f"{self.peer.url}/stolen")])
        elif fault == "garbage":
            self.answer(200, raw=b"<html>200 OK</html>")
        elif fault == "large":
            self.answer(200, raw=b'{"status": "succeeded", "x": "' + b"x" * 200_000 + b'"}')
        elif fault == "other":
            self.answer(200, {"status": "succeeded", "payment_id": "another"})
        else:
            if fault == "slow":
                self.peer.stopped.wait(0.05)
            self.answer(200, {"status": status, "payment_id": payment})

    def do_POST(self):
        body = self.body()
        self.check_signature(body)
        asked = json.loads(body)
        payment = asked["payment_id"]
        verb = "refund" if self.path.endswith("/refund") else "charge"
        expected = f"/payments/{payment}/refund" if verb == "refund" else "/payments"
        key = payment + ("-refund" if verb == "refund" else "")
        assert self.path == expected and self.headers["Idempotency-Key"] == key
        self.peer.book.requests.append((verb, self.headers))
        fault = self.peer.fault_of(payment, verb)
        if verb == "charge":
            self.charge(payment, asked, fault)
        else:
            known = payment in self.peer.book.payments
            if not known:
                self.answer(404, {"error": "no such payment"})
                return
            status = self.peer.book.refund(payment) if fault in DONE else "pending"
            self.misbehave(fault, payment, status)

    def charge(self, payment, asked, fault):
        assert isinstance(asked["amount"], int) and len(asked["currency"]) == 3
        self.peer.book.tokens.append(asked.get("payment_token"))
        status = {"declined": "declined", "pending": "pending"}.get(fault, "succeeded")
        if fault in DONE | {"declined", "pending"}:
            status = self.peer.book.charge(payment, asked["amount"], status)
        if fault == "declined" and status == "declined":
            self.answer(402, {"status": "declined", "message": "no funds"})
            return
        self.misbehave(fault, payment, status)
        if fault == "twice":
            self.peer.call_back(payment, "succeeded", times=2)

    def do_GET(self):
        self.check_signature(b"")
        payment = self.path.rpartition("/")[2]
        self.peer.book.requests.append(("ask", self.headers))
        fault = self.peer.fault_of(payment, "ask")
        entry = self.peer.book.payments.get(payment)
        if fault in ("ok", "slow", "twice", "declined", "pending"):
            if entry is None:
                self.answer(404, {"error": "no such payment"})
                return
            if fault != "pending" and self.peer.settles:
                self.peer.book.settle(payment)
            self.answer(200, {"status": entry["status"], "payment_id": payment})
        else:
            self.misbehave(fault, payment, (entry or {}).get("status", "pending"))


class PeerServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        pass  # clients that hang up are part of it


class PaymentPeer:
    def __init__(self, faults=lambda payment, verb, times: "ok", signed=True, settles=True,
                 silence_s=2.0):
        self.book = Book()
        self.faults, self.signed, self.settles = faults, signed, settles
        self.silence_s = silence_s
        self.callback_ports = []
        self.called = []  # statuses of the answers to callbacks
        self.stopped = threading.Event()
        self.server = PeerServer(("127.0.0.1", 0), Handler)
        self.server.peer = self
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()

    def fault_of(self, payment, verb):
        return self.faults(payment, verb, self.book.times(payment, verb))

    def call_back(self, payment, status="succeeded", times=1, secret=SECRET, at=None, message=None,
                  tamper=False):
        """Sends a signed message to the server; gives the last status."""
        body = json.dumps({"payment_id": payment, "status": status}).encode()
        at = str(int(time.time()) if at is None else at)
        message = message or f"msg-{payment}"
        headers = {"Content-Type": "application/json", "webhook-id": message,
                   "webhook-timestamp": at,
                   "webhook-signature": sign(secret, message, at, body)}
        body = body.replace(b"succeeded", b"declined!") if tamper else body
        for _ in range(times):
            for port in self.callback_ports:
                request = urllib.request.Request(
                    f"http://127.0.0.1:{port}/v1/payments/callback", body, headers)
                try:
                    with urllib.request.urlopen(request, timeout=30) as answer:
                        self.called.append(answer.status)
                except urllib.error.HTTPError as error:
                    self.called.append(error.code)
                except OSError:
                    self.called.append(0)
        return self.called[-1]
