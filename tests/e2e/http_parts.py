# SPDX-License-Identifier: Apache-2.0
"""What the tests of the HTTP port share: a server asked with curl, names of their own, users, and
the form that a refusal has."""

import itertools

import pytest

from curl import Curl, header
from server import Server

numbers = itertools.count(1)
PASSWORD = "correct horse: battery"
JSON = header("Content-Type", "application/json")
# Section 8 of the contract. Those that only a ledger, another engine or a failing machine can give
# are left out: SOLD_OUT, RATE_LIMITED, BUSY, ENGINE_DOWN, LEDGER_DOWN, INTERNAL.
STATUS = {code: status for status, codes in {
    400: "INVALID_QUANTITY INVALID_AMOUNT INVALID_TTL INVALID_ID INVALID_ARGUMENT "
         "USER_LIMIT_EXCEEDED",
    401: "UNAUTHORIZED", 403: "FORBIDDEN",
    404: "ZONE_NOT_FOUND RESERVATION_NOT_FOUND HOLD_NOT_FOUND PRODUCT_NOT_FOUND NOT_IN_QUEUE "
         "NOT_FOUND",
    408: "TIMEOUT",
    409: "INSUFFICIENT_STOCK SOLD_OUT INVALID_STATE BOOKING_EXISTS CAPACITY_IN_USE "
         "ALREADY_IN_QUEUE IN_PROGRESS LOCKED NOT_OWNER",
    413: "PAYLOAD_TOO_LARGE", 422: "KEY_REUSED", 429: "QUOTA_EXCEEDED QUEUE_FULL NO_SLOT",
}.items() for code in codes.split()}
PASSES = {"TIMEOUT", "IN_PROGRESS", "LOCKED"}  # trying later helps, beside all of 429 and 503
reached = set()


@pytest.fixture(scope="module")
def server():
    # No room admits but by a test's own request.
    with Server("--admission-every", "0", "--payment-url", "test:") as one:
        yield one


@pytest.fixture(scope="module")
def curl(server):
    return Curl(server.http_port)


@pytest.fixture
def name():
    """A scope that no other test uses."""
    return f"scope-{next(numbers)}"


def done(answer, status, *fields):
    """An answer of that status in JSON, of these fields and no others."""
    assert answer.status == status, answer
    assert answer.headers["content-type"].split(";")[0] == "application/json"
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert set(answer.json) == set(fields)
    return answer.json


def says(answer):
    """The message of a refusal in its proper form."""
    assert answer.headers["content-type"].split(";")[0] == "application/json"
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert set(answer.json) == {"error"} and set(answer.json["error"]) == {"code", "message"}
    assert answer.json["error"]["message"]
    return answer.json["error"]["message"]


def refused(answer, code):
    """The message of a refusal with that code, and the status that goes with it."""
    message = says(answer)
    assert (answer.code, answer.status) == (code, STATUS[code])
    assert ("retry-after" in answer.headers) == (code in PASSES or answer.status in (429, 503))
    reached.add(code)
    return message


BOOKING = {"zone_id": "floor", "user_id": "ann", "quantity": 2, "max_per_user": 4}


def booking(**more):
    return {**BOOKING, **more}


@pytest.fixture
def event(curl, name):
    """The path of an event with a zone of 10 seats."""
    assert curl.put(f"/v1/events/{name}/zones/floor", {"capacity": 10}).status == 200
    return f"/v1/events/{name}"


@pytest.fixture(scope="module")
def users(holdfast, tmp_path_factory):
    """The file of users: reader, writer, other (write) and chief with tokens; ann (write) with a
    password."""
    path, tokens, lines = tmp_path_factory.mktemp("users") / "users", {}, []
    for who, role in (("reader", "read"), ("writer", "write"), ("other", "write"),
                      ("chief", "admin")):
        ended = holdfast("auth", who, role)
        lines.append(ended.out)
        tokens[who] = ended.err.split()[-1]
    lines.append(holdfast("auth", "ann", "write", "--password", stdin=PASSWORD + "\n").out)
    path.write_text("".join(lines))
    path.chmod(0o600)
    return path, tokens


@pytest.fixture(scope="module")
def guarded(users):
    """as_user(name): a curl with that user's token; None for nobody's."""
    path, tokens = users
    with Server("--auth-file", path, memory=True) as server:
        def as_user(who):
            stranger = Curl(server.http_port)
            return stranger if who is None else stranger.having("--oauth2-bearer", tokens[who])
        yield as_user


def unauthorized(answer):
    refused(answer, "UNAUTHORIZED")
    assert answer.headers["www-authenticate"].split()[0] == "Bearer"


def reserve(curl, event, **more):
    body = {"zone_id": "floor", "user_id": "ann", "quantity": 2, "max_per_user": 6, **more}
    return done(curl.post(f"/v1/events/{event}/bookings", body), 201, "booking_id", "status",
                "remaining", "user_reserved", "expires_at")


@pytest.fixture
def room(curl, name):
    """ann, bob and cleo stand in line."""
    path = f"/v1/events/{name}/queue"
    for i, user in enumerate(("ann", "bob", "cleo"), 1):
        place = done(curl.post(path, {"user_id": user}), 201, "position", "total", "token")
        assert (place["position"], place["total"]) == (i, i) and place["token"]
    return path
