# SPDX-License-Identifier: Apache-2.0
"""A receiver of webhooks: a real HTTP server on a free port of this machine. It verifies every
signature by the published scheme (Standard Webhooks), written here a second time, and answers as it
is told to."""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from own_server import free_port

SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four!").decode()
TOLERANCE_S = 300


def signature_is_valid(secret, headers, body):
    """As https://github.com/standard-webhooks/standard-webhooks describes it."""
    key = base64.b64decode(secret[len("whsec_"):])
    if abs(time.time() - int(headers["webhook-timestamp"])) > TOLERANCE_S:
        return False
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    right = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = [part.split(",", 1) for part in headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(code, right) for version, code in given)


class Receiver:
    """`status` is what it answers; a function gets the event and gives it. Only what was answered
    with 2xx counts as heard."""

    def __init__(self, secret=SECRET):
        self.secret = secret
        self.status = 200
        self.headers = {}
        self.pace = None  # an event to wait for before each answer
        self.heard, self.seen, self.raw, self.forged = [], [], [], 0
        self.most, self.now = 0, 0
        self.lock = threading.Lock()
        self.server = None
        self.port = free_port()  # which it finds free again when it comes back
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.pace:
            self.pace.set()
        self.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook?shop=1"

    def start(self):
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.take(self, body)

            def log_message(self, *_):
                pass

        class Listener(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 64

        self.server = Listener(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        """As if its machine were off: connections are refused."""
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def take(self, request, body):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        if self.pace:
            self.pace.wait(60)
        valid = signature_is_valid(self.secret, request.headers, body)
        event = {**json.loads(body), "id": request.headers["webhook-id"]}
        status = self.status(event) if callable(self.status) else self.status
        with self.lock:
            self.forged += not valid
            self.seen.append(event)
            self.raw.append(({name.lower(): value for name, value in request.headers.items()},
                             body.decode()))
            if 200 <= status < 300:
                self.heard.append(event)
            self.now -= 1
        try:
            request.send_response(status)
            for name, value in self.headers.items():
                request.send_header(name, value)
            request.send_header("content-length", "0")
            request.end_headers()
        except OSError:
            pass  # the sender has gone

    # ---- what it has heard

    def of(self, subject):
        """The types that were heard of an order or a booking, in order."""
        with self.lock:
            return [each["type"] for each in self.heard
                    if subject in (each["data"].get("order_id"), each["data"].get("booking_id"))]

    def subjects(self):
        with self.lock:
            return {each["data"].get("order_id") or each["data"]["booking_id"]
                    for each in self.heard}
