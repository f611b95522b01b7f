# SPDX-License-Identifier: Apache-2.0
"""What a request says in its body and in fields that the server looks at: types, JSON, keys,
preferences, origins."""

import json

from raw_http import BODY, CHANGED, KEPT, PATH, Case, get, post, put, put_with, raw

TYPES = [
    *[Case("RFC 9110 8.3", put(kind=f"Content-Type:{value}\r\n"), 200, CHANGED) for value in (
        "  application/json", "application/json", " APPLICATION/JSON", " application/json; charset=utf-8",
        " application/json;charset=\"utf-8\"", " application/json ;x", "\tapplication/json\t")],
    *[Case("RFC 9110 15.5.16", put(kind=f"Content-Type: {value}\r\n"), 415, KEPT) for value in (
        "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json",
        "application/jsonx", "application/ json", "application/problem+json", "*/*", "application/*", "",
        "application/json, text/plain", "json", "application", "application/json\xa0")],
    Case("RFC 9110 15.5.16", put(kind=""), 415, KEPT),
]

NESTED = "[" * 3000 + "]" * 3000
BODIES = [
    *[Case("RFC 8259 2", put(body=raw(body)), 200, CHANGED) for body in (
        " {\"limit\":7} ", "{\r\n\t\"limit\" : 7\n}", "{\"limit\":\"7\"}", "{\"\\u006cimit\":7}",
        "{\"limit\":7}\n")],
    *[Case("RFC 8259 2", put(body=raw(body)), 400, KEPT) for body in (
        "{", "}", "{}x", "{\"limit\":7", "{\"limit\":7}}", "{\"limit\":7}{}", "{\"limit\":7,}", "{,}", "{'limit':7}",
        "{limit:7}", "{\"limit\" 7}", "{\"limit\":}", "{\"limit\"}", "[7]", "7", "\"limit\"", "null", "true", "[]", "x",
        "\x00", "\xef\xbb\xbf{\"limit\":7}", "{\"limit\":7}\x00", "{\"limit\":07}", "{\"limit\":+7}", "{\"limit\":7.}",
        "{\"limit\":.7}", "{\"limit\":0x7}", "{\"limit\":NaN}", "{\"limit\":Infinity}", "{\"limit\":7 7}",
        "{\"limit\":7/**/}", "{\"limit\":7} //x", "{\"lim\nit\":7}", "{\"limit\":\"\\x37\"}", "{\"limit\":\"\\u00\"}",
        "{\"limit\":\"7}", "{\"limit\":tru}", "{\"limit\":\"\\ud800\"}", "\xff\xfe{\x00}\x00", "{\"limit\":\"\xff\"}",
        "{\"limit\":\"\xc0\x80\"}", NESTED, "{\"a\":" * 3000 + "1" + "}" * 3000, " ")],
    *[Case("SPEC 0.8", put(body=raw(body)), 400, KEPT) for body in (
        "{\"limit\":-1}", "{\"limit\":1.5}", "{\"limit\":7.0}", "{\"limit\":7e0}", "{\"limit\":1e400}",
        "{\"limit\":9007199254740992}", "{\"limit\":9223372036854775808}", "{\"limit\":99999999999999999999999}",
        "{\"limit\":null}", "{\"limit\":true}", "{\"limit\":[7]}", "{\"limit\":{}}", "{\"limit\":\"\"}", "{\"limit\":\" 7\"}",
        "{\"limit\":\"7 \"}", "{\"limit\":\"0x7\"}", "{\"limit\":\"seven\"}", "{\"limit\":\"+7\"}", "{\"limit\":\"7\\u0000\"}")],
    *[Case("SPEC 9", put(body=raw(body)), 400, KEPT) for body in (
        "{}", "{\"Limit\":7}", "{\"limit\":7,\"x\":1}", "{\"limit\":7,\"limit\":8}", "{\"limit\":7,\"tenant\":\"other\"}",
        "{\"limit \":7}", "{\"limit\\u0000\":7}", "{\"\":7}", json.dumps({f"f{i}": i for i in range(200)}),
        "{\"limit\":7,\"__proto__\":{}}")],
    Case("SPEC 9", put(body=b""), 400, KEPT),
    Case("SPEC 9", put(target=PATH + "?limit=7", body=b"{}"), 400, KEPT),
    Case("SPEC 9", put(target=PATH + "?x=1"), 400, KEPT),
    Case("RFC 9110 9.3.1", raw(get(PATH, f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n"),
                               BODY), 400, KEPT),
    *[Case("SPEC 9", get(PATH + query), 400, KEPT) for query in (
        "?limit=7", "?x", "?=", "?&x=1", "?%zz", "?a=%", "?a=%4", "?" + "&".join(f"a{i}=1" for i in range(200)))],
    *[Case("SPEC 9", get(PATH + query), 200, KEPT) for query in ("", "?")],
    *[Case("SPEC 15", get("/v1/list/tenants" + query), 400, KEPT) for query in (
        "?count=0", "?count=-1", "?count=x", "?count=1&count=2", "?after=zzz",
        "?count=99999999999999999999")],
    Case("SPEC 8", get("/v1/list/tenants?match=" + "a" * 400), 413, KEPT),
    *[Case("SPEC 15", get(f"/v1/list/{kind}"), 400, KEPT) for kind in (
        "", "x", "Tenants", "tenants%00", "users", "%2e%2e")],
    *[Case("SPEC 9", get("/v1/list/" + kind), 200, KEPT) for kind in ("tenants", "keys", "locks?count=1")],
]

KEYED = "/v1/quotas/raw-keyed/sync"
KEYS = [
    *[Case("SPEC 7", post(KEYED, f"{{\"actual\":{i}}}", f"Idempotency-Key: {key}\r\n"), 200, KEPT)
      for i, key in enumerate(("a", "\"b\"", "\"c d\"", "\"e\\\"f\"", "g,h", "i;j", "k" * 255, "http:x:y", "l{m}",
                               "n:o", "\u00fcp".encode().decode("latin-1"), "\"\\\\\""))],
    *[Case("SPEC 7", post(KEYED, "{\"actual\":1}", f"Idempotency-Key: {key}\r\n"), 400, KEPT) for key in (
        "", " ", "q r", "\"", "\"\"", "\"s", "t\"u v", "\"v\"w", "x" * 256, "\"" + "y" * 256 + "\"", "\"\\z\"",
        "\xff\xfe", "a\tb", "\"\xe9\"", "\"a\\\"")],
    Case("SPEC 7", post(KEYED, "{\"actual\":2}", "Idempotency-Key: a\r\n"), 422, KEPT),
    Case("SPEC 7", raw(post(KEYED, "{\"actual\":5}", "Idempotency-Key: again\r\n") * 2), [200, 200], KEPT),
    Case("SPEC 7", put_with("Idempotency-Key: a b\r\n"), 200, CHANGED),
    *[Case("RFC 7240 2", post("/v1/semaphores/raw/acquire", "{\"limit\":1000}", f"Prefer: {value}\r\n"), 200, KEPT)
      for value in ("wait=1", "wait=x", "wait", "", "respond-async", "wait=-1", "wait=1;a=\"b\"", "\"", "wait=\"1", ",,,",
                    "wait=99999999999999999999", "wait=1\r\nPrefer: wait=2")],
    *[Case("RFC 9110 12.5.1", get(PATH, f"Accept: {value}\r\n"), 200, KEPT) for value in (
        "*/*", "application/json", "text/html", "application/problem+json", "x", "", "a/b;q=0", ";;", "*", "\"",
        "application/json;q=2", "text/*;q=0.1, */*;q=0")],
    *[Case("RFC 6454 7", put_with(f"Origin: {origin}\r\n"), 403, KEPT) for origin in (
        "http://evil.example", "null", "", "localhost", "http://localhost:1", "http://evil.example/localhost",
        "http://localhost.evil.example", "https://u@localhost", "file://", "http://localhost, http://evil")],
    *[Case("RFC 6454 7", put_with(f"Origin: {origin}\r\n"), 200, CHANGED) for origin in (
        "http://localhost", "https://localhost")],
    Case("RFC 6454 7", get(PATH, "Origin: http://evil.example\r\n"), 200, KEPT),
    *[Case("SPEC 14", post("/v1/payments/callback", body, fields), 401, KEPT) for body, fields in (
        ("", ""), ("{}", ""), ("x", "webhook-id: a\r\n"), ("{\"id\":1}", "webhook-id: a\r\nwebhook-timestamp: x\r\n"),
        ("{}", "webhook-id: a\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,AAAA\r\n"))],
]

TABLES = {"types": TYPES, "bodies": BODIES, "keys and preferences": KEYS}
