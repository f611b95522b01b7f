# SPDX-License-Identifier: Apache-2.0
"""Requests to a server with users: forms of Authorization, and that who asks and whether they may comes
before all that is wrong with the rest."""

import base64

from raw_http import (BODY, CHANGED, CLOSED, KEPT, PATH, Case, chunked, get, head, post, put, put_with,
                      raw)


def bearer(token):
    return f"Authorization: Bearer {token}\r\n"


def basic(text):
    return "Authorization: Basic " + base64.b64encode(text.encode("latin-1")).decode() + "\r\n"


WRONG = [  # what would be 400, 404 of a thing, 413 or 415 for who may
    put(body=b"{"), put(body=b""), put(kind="Content-Type: text/plain\r\n"), put(target="/v1/quotas/%20"),
    put(target="/v1/quotas/%zz"), put(target=PATH + "?x"), put(target="/v1/quotas/" + "a" * 200),
    post("/v1/quotas/raw/reserve", "{}", "Idempotency-Key: a b\r\n"), post("/v1/bookings/none/confirm", "{}"),
    post("/v1/locks/x/unlock", "{\"lock_id\":5"), chunked("b\r\n" + BODY.decode() + "\r\n0\r\n\r\n"),
    put_with("Prefer: wait=1\r\n"), put_with("Origin: http://localhost\r\n"),
]


def with_fields(request, fields):
    line, rest = request.split(b"\r\n", 1)
    return raw(line, "\r\n", fields, rest)


def forms(tokens):
    token = tokens["writer"]
    return [
        Case("RFC 6750 2.1", put_with(bearer(token)), 200, CHANGED),
        Case("RFC 9110 11.1", put_with(f"authorization: bEaReR {token}\r\n"), 200, CHANGED),
        Case("RFC 9110 11.4", put_with(f"Authorization:\tBearer   {token} \r\n"), 200, CHANGED),
        *[Case("RFC 9110 11.6.1", put_with(f"Authorization: {value}\r\n"), 401, KEPT) for value in (
            "", "Bearer", "Bearer ", "Bearer x", token, f"Bearer{token}", f"Bearer {token}x", f"Bearer x{token}",
            f"Bearer {token},", f"Bearer \"{token}\"", f"Token {token}", f"Bearer\t{token}", "Basic", "Basic ",
            "Basic x", "Basic ====", "Basic YQ", "Negotiate x", "Digest username=\"x\"", f"Bearer {token} x",
            f"Bearer {token[:-1]}", "Bearer \xff\xfe", "Basic " + "A" * 4000, "Bearer " + "a" * 8000)],
        *[Case("RFC 7617 2", put_with(basic(text)), 401, KEPT) for text in (
            "ann", "ann:", ":", ":x", "ann:wrong", "nobody:x", "ann\x00:x", "a" * 300 + ":x")],
        Case("RFC 7617 2", put_with(basic("ann:correct horse: battery")), 200, CHANGED),
        Case("RFC 9110 5.3", put_with(bearer(token) * 2), 400),
        Case("RFC 9110 5.3", put_with(bearer(token) + bearer("x")), 400),
        Case("RFC 9112 9.3.2", raw(put_with(bearer(token)), put()), [200, 401], CHANGED),
        Case("RFC 9112 9.3.2", raw(put(), put_with(bearer(token))), [401, 200], CHANGED),
        Case("RFC 6750 2.3", put(target=f"{PATH}?access_token={token}"), 401, KEPT),
    ]


def order(tokens):
    reader = bearer(tokens["reader"])
    too_large = head(f"PUT {PATH} HTTP/1.1", "Content-Length: 99999999\r\n")
    waits = head(f"PUT {PATH} HTTP/1.1", "Content-Length: 11\r\nExpect: 100-continue\r\n")
    return [
        *[Case("SPEC 8", request, 401, KEPT) for request in WRONG],
        *[Case("SPEC 8", with_fields(request, reader), 403, KEPT) for request in WRONG],
        *[Case("SPEC 8", with_fields(request, bearer("wrong")), 401, KEPT) for request in WRONG],
        Case("RFC 9110 10.1.1", waits, 401, CLOSED),
        Case("RFC 9110 10.1.1", with_fields(waits, reader), 403, CLOSED),
        Case("RFC 9110 15.5.14", too_large, 401, CLOSED),
        Case("RFC 9110 15.5.14", with_fields(too_large, reader), 403, CLOSED),
        *[Case("SPEC 8", get(path), 401, KEPT) for path in (
            "/metrics", "/v1/info", "/v1/feed", PATH, "/v1/quotas/%20", "/v1/quotas/%zz", "/v1/list/x",
            "/v1/events/%20/queue/u/stream", "/v1/bookings/none", PATH + "?x", "/v1/locks/x")],
        *[Case("SPEC 9", get(path), 200, KEPT) for path in ("/", "/livez", "/readyz", "/v1/openapi.json")],
        *[Case("RFC 9110 15.5.5", get(path), 404, KEPT) for path in ("/nothing", "/v1/nothing")],
        Case("RFC 9110 15.5.6", get("/v1/audit"), 405, KEPT),
        *[Case("SPEC 8", post(path, "x", reader), 403, KEPT) for path in ("/v1/audit", "/v1/snapshot")],
        *[Case("SPEC 8", post(path, "x", bearer(tokens["writer"])), 403, KEPT)
          for path in ("/v1/audit", "/v1/snapshot", "/v1/sagas/x/resume", "/v1/sagas/x/refund")],
        Case("SPEC 8", get("/v1/feed", reader), 403, KEPT),
        Case("SPEC 9", get(PATH, reader, host="Host: any.example\r\n"), 200, KEPT),
    ]


TABLES = {"forms of Authorization": forms, "the order of refusals": order}
