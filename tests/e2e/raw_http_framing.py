# SPDX-License-Identifier: Apache-2.0
"""Where a request ends: Content-Length, Transfer-Encoding, chunks, trailers, and what follows."""

from raw_http import (BODY, CHANGED, CLOSED, KEPT, Case, cases, chunked, get, head, post, put,
                      put_with, raw)

TE = "Transfer-Encoding: chunked\r\n"
WHOLE = "b\r\n" + BODY.decode() + "\r\n0\r\n\r\n"
CL = f"Content-Length: {len(BODY)}\r\n"

LENGTH = [
    Case("RFC 9112 6.2", put(), 200, CHANGED),
    Case("RFC 9110 8.6", put(fields="Content-Length: 0011\r\n"), 200, CHANGED),
    Case("RFC 9110 5.5", put(fields="Content-Length:11\r\n"), 200, CHANGED),
    Case("RFC 9110 5.5", put(fields="Content-Length: \t 11 \t\r\n"), 200, CHANGED),
    Case("RFC 9110 5.1", put(fields="cOnTeNt-LeNgTh: 11\r\n"), 200, CHANGED),
    *[Case("RFC 9110 8.6", put(fields=f"Content-Length: {value}\r\n"), 400) for value in (
        "+11", "-11", "-0", "0x0b", "11.0", "1e1", "11 11", "11,11", "11, 11", "11;", "eleven", "",
        "11a", "a11", "1 1", "99999999999999999999", "18446744073709551627", "9223372036854775808",
        "\"11\"", "1_1", "11,", ",11", "\u00b9", "0b1011", "(11)", "11/2", "%31%31")],
    *[Case("RFC 9112 6.3", put(fields=CL + second), 400) for second in (
        CL, "Content-Length: 12\r\n", "content-length: 11\r\n", "Content-Length: 0\r\n",
        "Content-Length:\r\n")],
    *cases("RFC 9110 15.5.12", CLOSED, 411, put(fields=""), put(fields="", method="POST"),
           put(fields="Content-Length2: 11\r\n"), put(fields="X-Content-Length: 11\r\n")),
    *cases("RFC 9110 15.5.14", CLOSED, 413, put(fields="Content-Length: 1441793\r\n", body=b""),
           put(fields="Content-Length: 999999999999\r\n", body=b""),
           put(fields="Content-Length: 100000000000000000\r\n", body=b""),
           put(fields="Content-Length: 9007199254740993\r\n", body=b"")),
    *cases("RFC 9112 8", CLOSED, None, put(fields="Content-Length: 12\r\n"),
           put(fields="Content-Length: 1000\r\n"), put(fields="Content-Length: 1\r\n", body=b"")),
    Case("RFC 9112 6.3", get("/livez", "Content-Length: 0\r\n"), 200, KEPT),
    Case("RFC 9112 6.3", raw(get("/livez", "Content-Length: 4\r\n"), "GET "), 200, KEPT),
    Case("RFC 9112 9.3.2", raw(get("/livez", "Content-Length: 3\r\n"), b"abc", get("/livez")),
         [200, 200], KEPT),
    Case("RFC 9112 6.3", put(fields="Content-Length: 2\r\n"), [400, 400]),
]

CODING = [
    Case("RFC 9112 7.1", chunked(WHOLE), 200, CHANGED),
    *[Case("RFC 9112 7", put(f"Transfer-Encoding:{value}\r\n", raw(WHOLE)), 200, CHANGED)
      for value in (" Chunked", "CHUNKED", "chunked", "\tchunked\t", "  chunked  ")],
    *[Case("RFC 9112 6.1", put(f"Transfer-Encoding: {value}\r\n", raw(WHOLE)), status)
      for value, status in (
          ("gzip", 400), ("gzip, chunked", 501), ("chunked, gzip", 400), ("identity", 400),
          ("chunked, chunked", 400), ("chunked,", 400), (",chunked", 501), ("xchunked", 400),
          ("chunkedx", 400), ("chunked;q=1", 400), ("\"chunked\"", 400), ("chunk", 400), ("", 501),
          ("chunked chunked", 400), ("trailers", 400), ("chunked\x0b", 400), ("chunked\xa0", 400),
          ("identity, chunked", 501), ("deflate", 400), ("x-chunked", 400))],
    *cases("RFC 9112 6.1", CLOSED, 400, put(TE + CL, raw(WHOLE)), put(CL + TE, raw(WHOLE)),
           put(TE + "Content-Length: 0\r\n", raw(WHOLE)), put(TE + TE, raw(WHOLE)),
           put("Content-Length: 0\r\n" + TE, raw(WHOLE)),
           put(TE + "content-length: 5\r\n", raw(WHOLE)),
           put(TE + "Transfer-Encoding: identity\r\n", raw(WHOLE)),
           put("Transfer-Encoding: identity\r\n" + TE, raw(WHOLE)),
           put(TE, raw(WHOLE), version="HTTP/1.0"),
           put("Transfer-Encoding : chunked\r\n", raw(WHOLE)),
           put(" Transfer-Encoding: chunked\r\n", raw(WHOLE)),
           put("Transfer-Encoding\t: chunked\r\n", raw(WHOLE)),
           put("Transfer-Encoding:\x00chunked\r\n", raw(WHOLE)),
           put("Transfer-Encoding: chun\r\n ked\r\n", raw(WHOLE))),
    *cases("RFC 9112 6.1", CLOSED, 411, put("Transfer_Encoding: chunked\r\n", raw(WHOLE)),
           put("TransferEncoding: chunked\r\n", raw(WHOLE)),
           put("X-Transfer-Encoding: chunked\r\n", raw(WHOLE))),
    Case("RFC 9110 6.4.1", get("/livez", TE) + b"0\r\n\r\n", 200, KEPT),
    Case("RFC 9110 10.1.4", chunked(WHOLE, "TE: trailers\r\n"), 200, CHANGED),
]

GOOD_CHUNKS = [
    "B\r\n{limit}\r\n0\r\n\r\n", "0b\r\n{limit}\r\n0\r\n\r\n", "000000000000000b\r\n{limit}\r\n0\r\n\r\n",
    "5\r\n{\"lim\r\n6\r\nit\":7}\r\n0\r\n\r\n", "b\r\n{limit}\r\n000\r\n\r\n",
    "b;a\r\n{limit}\r\n0\r\n\r\n", "b;a=b\r\n{limit}\r\n0\r\n\r\n", "b;a=b;c;d=e\r\n{limit}\r\n0\r\n\r\n",
    "b;a=\"b\"\r\n{limit}\r\n0\r\n\r\n", "b;a=\"b;c\"\r\n{limit}\r\n0;x=\"\"\r\n\r\n",
    "b;a=\"\\\"\"\r\n{limit}\r\n0\r\n\r\n", "b; a = b\r\n{limit}\r\n0\r\n\r\n",
    "b;a=\"b\" ;c\r\n{limit}\r\n0\r\n\r\n", "b;a\t\r\n{limit}\r\n0\r\n\r\n",
    "b\r\n{limit}\r\n0;last\r\n\r\n", "b\r\n{limit}\r\n0\r\nX: y\r\n\r\n",
    "b\r\n{limit}\r\n0\r\nX: y\r\nZ:\r\n\r\n", "b\r\n{limit}\r\n0\r\nContent-Length: 5\r\n\r\n",
    "b\r\n{limit}\r\n0\r\nHost: evil\r\n\r\n", "b\r\n{limit}\r\n0\r\nAuthorization: Bearer x\r\n\r\n",
    "b\r\n{limit}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n", "b;a=\"\xe9\"\r\n{limit}\r\n0\r\n\r\n",
]
BAD_CHUNKS = [
    "\r\n", "g\r\n", "-1\r\n", "+b\r\n{limit}\r\n0\r\n\r\n", "0xb\r\n{limit}\r\n0\r\n\r\n",
    " b\r\n{limit}\r\n0\r\n\r\n", "b \r\n{limit}\r\n0\r\n\r\n", "b\t\r\n{limit}\r\n0\r\n\r\n",
    "b ;a\r\n{limit}\r\n0\r\n\r\n", "b\n{limit}\r\n0\r\n\r\n", "b\r{limit}\r\n0\r\n\r\n",
    "b\r\n{limit}0\r\n\r\n", "b\r\n{limit}\n0\r\n\r\n", "b\r\n{limit}\r0\r\n\r\n",
    "a\r\n{limit}\r\n0\r\n\r\n", "b\r\n{limit}\r\n\r\n", "b\r\n{limit}\r\n0\n\n",
    "b\r\n{limit}\r\n0\r\n\n", "b\r\n{limit}\r\n0\r\nX y\r\n\r\n", "b\r\n{limit}\r\n0\r\n X: y\r\n\r\n",
    "b\r\n{limit}\r\n0\r\nX : y\r\n\r\n", "b\r\n{limit}\r\n0\r\nX: a\x00b\r\n\r\n",
    "b\r\n{limit}\r\n0\r\n: y\r\n\r\n", "b;\r\n{limit}\r\n0\r\n\r\n", "b;;\r\n{limit}\r\n0\r\n\r\n",
    "b;=a\r\n{limit}\r\n0\r\n\r\n", "b;a=\r\n{limit}\r\n0\r\n\r\n", "b;a=\"b\r\n{limit}\r\n0\r\n\r\n",
    "b;a=\"b\"c\r\n{limit}\r\n0\r\n\r\n", "b;a=b c\r\n{limit}\r\n0\r\n\r\n", "b;a b\r\n{limit}\r\n0\r\n\r\n",
    "b;a\nb\r\n{limit}\r\n0\r\n\r\n", "b;a\r{limit}\r\n0\r\n\r\n", "b;a=\"\x00\"\r\n{limit}\r\n0\r\n\r\n",
    "b;a=\"\x7f\"\r\n{limit}\r\n0\r\n\r\n", "b;a=\"\\\r\n\"\r\n{limit}\r\n0\r\n\r\n", "b;a==b\r\n{limit}\r\n0\r\n\r\n",
    "00000000000000000b\r\n{limit}\r\n0\r\n\r\n", "fffffffffffffffff\r\n", "1 1\r\n", "b,\r\n", "b:\r\n",
    "b;" + "a" * 300 + "\r\n{limit}\r\n0\r\n\r\n", "b;a=\"" + "b" * 300 + "\"\r\n{limit}\r\n0\r\n\r\n",
]


def body_in(text):
    return chunked(raw(text.replace("{limit}", BODY.decode())))


CHUNKS = [
    *[Case("RFC 9112 7.1", body_in(text), 200, CHANGED) for text in GOOD_CHUNKS],
    *[Case("RFC 9112 7.1", body_in(text), 400) for text in BAD_CHUNKS],
    *[Case("RFC 9112 7.1", body_in(text), 413) for text in (
        "ffffffffffffffff\r\n", "160001\r\n", "7fffffffffffffff\r\n", "8000000000000000\r\n",
        "b\r\n{limit}\r\nfffffffffffffff5\r\n", "100000000\r\n")],
    Case("RFC 9110 15.5.22", body_in("b\r\n{limit}\r\n0\r\n" + "X: " + "y" * 20000 + "\r\n\r\n"), 431),
    *[Case("RFC 9112 8", body_in(text), None) for text in (
        "b\r\n{limit}\r\n0\r\n", "b\r\n{limit}\r\n", "b\r\n{\"lim", "b", "b\r\n{limit}\r\n0\r\nX: y\r\n")],
]

PIPELINES = [
    Case("RFC 9112 9.3.2", raw(put(), get("/livez")), [200, 200], CHANGED),
    Case("RFC 9112 9.3.2", raw(chunked(WHOLE), get("/livez")), [200, 200], CHANGED),
    Case("RFC 9112 9.3.2", get("/livez") * 20, [200] * 20, KEPT),
    Case("RFC 9112 9.3.2", raw(get("/nothing"), put()), [404, 200], CHANGED),
    Case("RFC 9112 9.3.2", raw(put_with("", target="/nothing"), put()), [404, 200], CHANGED),
    Case("RFC 9112 9.6", raw(get("/livez", "Connection: close\r\n"), put()), 200),
    Case("RFC 9112 9.3.2", raw(get("/livez"), "x\r\n\r\n"), [200, 400]),
    Case("RFC 9112 2.2", raw("\r\n", put()), 200, CHANGED),
    Case("RFC 9112 2.2", raw("\r\n\r\n", put()), 400),
    Case("RFC 9112 2.2", raw("\n", put()), 400),
    Case("RFC 9112 2.2", raw(" ", put()), 400),
    Case("RFC 9112 2.2", raw(put(), "\r\n", get("/livez")), [200, 200], CHANGED),
    Case("RFC 9112 6.3", raw(get("/livez", "Content-Length: 70\r\n"), put()), [200, 400]),
    Case("RFC 9112 9.3.2", raw(post("/v1/quotas/raw/nothing", BODY), get("/livez")), [404, 200], KEPT),
    Case("RFC 9112 9.6", raw(head("GET /livez HTTP/1.0"), put()), 200),
]

TABLES = {"length": LENGTH, "coding": CODING, "chunks": CHUNKS, "pipelines": PIPELINES}
