# SPDX-License-Identifier: Apache-2.0
"""The head of a request: its line, target and version, the syntax of fields, Host, Connection, Expect,
Upgrade, and how large it may be."""

from raw_http import (BODY, CHANGED, CLOSED, ENDED, HOST, KEPT, PATH, Case, cases, get, head, put,
                      put_with, raw)

LINES = [
    *[Case("RFC 9112 3", head(line), 400) for line in (
        "GET", "GET ", "GET /livez", "GET /livez ", "GET  /livez HTTP/1.1", "GET /livez  HTTP/1.1",
        " GET /livez HTTP/1.1", "GET\t/livez HTTP/1.1", "GET /livez\tHTTP/1.1", "/livez HTTP/1.1",
        "GET /livez HTTP/1.1 ", "GET /livez HTTP/1.1 x", "GET /li vez HTTP/1.1", "GET /livez\x0bHTTP/1.1",
        "G(T /livez HTTP/1.1", "GE\x00T /livez HTTP/1.1", "G\xc9T /livez HTTP/1.1", "G,ET /livez HTTP/1.1",
        "\"GET\" /livez HTTP/1.1", "GET /livez\x00 HTTP/1.1", "GET /li\x7fvez HTTP/1.1",
        "GET /li\xe9vez HTTP/1.1", "GET /livez\r HTTP/1.1", "HTTP/1.1 200 OK", "GET: /livez HTTP/1.1",
        "*3", "PING", "$4", "{\"a\":1}")],
    *cases("RFC 9112 2.2", CLOSED, 400, b"GET /livez HTTP/1.1\nHost: localhost\n\n",
           b"GET /livez HTTP/1.1\r\nHost: localhost\n\r\n", b"GET /livez HTTP/1.1\rHost: localhost\r\r",
           b"GET /livez HTTP/1.1\n\rHost: localhost\r\n\r\n",
           b"GET /livez HTTP/1.1\r\r\nHost: localhost\r\n\r\n",
           b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\n",
           b"GET /livez HTTP/1.1\r\nHost: localhost\r\r\n\r\n"),
]

VERSIONS = [
    *[Case("RFC 9112 2.3", get(version=version), 400) for version in (
        "HTTP", "HTTP/", "HTTP/1", "HTTP/1.", "http/1.1", "Http/1.1", "HTTP 1.1", "HTTP/1,1", "HTTP/1.1.1",
        "HTTP/1.10", "HTTPS/1.1", "XTTP/1.1", "HTTP/.1", "HTTP/a.b", "HTTP/-1.1", "HTTP\\1.1",
        "HTTP/1.1a")],
    *[Case("RFC 9110 15.6.6", get(version=version), 505) for version in (
        "HTTP/0.9", "HTTP/2.0", "HTTP/3.0", "HTTP/9.9", "HTTP/1.2", "HTTP/1.9", "HTTP/0.0", "HTTP/01.1")],
    Case("RFC 9113 3.4", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    Case("RFC 9112 9.3", get(version="HTTP/1.0"), 200),
    Case("RFC 9112 3.2", get(version="HTTP/1.0", host=""), 200),
    Case("RFC 9112 9.3", put(version="HTTP/1.0"), 200, ENDED),
]

METHODS = [
    *[Case("RFC 9110 15.5.6", get("/livez", method=method), 405, KEPT) for method in (
        "DELETE", "PATCH", "TRACE", "PURGE", "LINK", "PROPFIND", "MKCOL", "LOCK", "UNLOCK", "COPY",
        "REPORT", "SEARCH")],
    *[Case("RFC 9110 9.1", get("/livez", method=method), 501) for method in (
        "get", "Get", "GETT", "FOO", "G", "HELLO", "BREW", "X" * 32, "X" * 33, "X" * 2000, "!#$%&'*+-.^_`|~")],
    Case("RFC 9110 9.3.2", get("/livez", method="HEAD"), 200, KEPT),
    Case("RFC 9110 9.3.2", get("/nothing", method="HEAD"), 404, KEPT),
    Case("RFC 9110 9.3.7", get("/livez", method="OPTIONS"), 204, KEPT),
    Case("RFC 9110 9.3.7", get("*", method="OPTIONS"), 204, KEPT),
    Case("RFC 9110 9.3.7", get("/nothing", method="OPTIONS"), 404, KEPT),
    Case("RFC 9110 15.5.6", put_with("", target="/livez"), 405, KEPT),
    Case("RFC 9110 9.3.5", put_with("", method="DELETE"), 400, KEPT),
    Case("RFC 9110 15.5.6", put_with("", method="POST"), 405, KEPT),
    Case("RFC 9110 15.5.6", put_with("X-HTTP-Method-Override: PUT\r\n", method="POST"), 405, KEPT),
]

TARGETS = [
    *[Case("RFC 9112 3.2", get(target), 400) for target in (
        "livez", "*", "localhost:80", "livez/", "?x", "//" + "\x00", "/#x", "/livez#", "ftp://localhost/",
        "ws://localhost/livez", "http:/livez", "http:livez", "javascript:x", "file:///livez",
        "http://", "http:///livez", "http://?x", "http://:80/livez", "http://@localhost/livez",
        "http://u@localhost/livez", "http://u:p@localhost/livez", "http://localhost:x/livez",
        "http://localhost:65536/livez", "http://[::1/livez", "http://local%68ost/livez",
        "http://a:1:2/livez", "https://u@localhost/livez", "http://localhost\\@evil/livez")],
    *cases("RFC 9110 9.3.6", CLOSED, 400, get("localhost:443", method="CONNECT"),
           get("*", method="CONNECT")),
    *cases("RFC 9110 15.5.6", KEPT, 405, get("/livez", method="CONNECT"),
           get("http://localhost/livez", method="CONNECT")),
    *cases("RFC 9112 3.2.2", KEPT, 200, get("http://localhost/livez"), get("HTTP://LOCALHOST:80/livez"),
           get("https://127.0.0.1/livez"), get("http://[::1]:4654/livez"), get("http://localhost"),
           get("http://localhost?"), get("http://localhost/livez", host="Host: other.example\r\n"),
           get("/livez?"), get("/livez?a=b"), get("/livez?%00")),
    Case("RFC 9112 3.2.2", put(target="http://localhost" + PATH), 200, CHANGED),
    *cases("RFC 9110 15.5.20", KEPT, 421, get("http://evil.example/livez"),
           get("http://localhost.evil.example/livez"), get("http://evil.example:80"),
           put(target="http://evil.example" + PATH)),
    *[Case("RFC 3986 6", get(target), 404, KEPT) for target in (
        "/livez/", "//livez", "/./livez", "/x/../livez", "/livez/.", "/%6civez", "/LIVEZ", "/livez%00",
        "/livez%20", "/livez;x", "/livez%3f", "/livez%2f", "/livez/..", "/..", "/.", "//", "/%2e%2e/livez",
        "/v1", "/v1/", "/v1//info", "/v1/info/", "/v2/info", "/v1%2finfo", "/" + "a/" * 50,
        "http://localhost//livez", "/livez\\", "/../livez", "/v1/quotas/raw/x/y", "/:", "/@", "/~")],
    *[Case("SPEC 0.8", put(target=f"/v1/quotas/{name}"), 400, KEPT) for name in (
        "%20", "a%20b", "a%00b", "%7b", "%7D", "a%09", "%0d%0a", "%ff", "%c0%80", "%ed%a0%80", "%", "%4",
        "%zz", "raw%", "", "a" * 129, "%e2%80%a8", "%7f", "%1b", "%c2%a0", "%25%32%30%")],
    Case("RFC 9110 15.5.15", get("/" + "a" * 9000), 414),
    Case("RFC 9110 15.5.15", get("/livez?" + "a" * 8200), 414),
    Case("RFC 9110 4.1", get("/livez?" + "a" * 8000), 200, KEPT),
]

FIELDS = [
    *[Case("RFC 9112 5", get(fields=field + "\r\n"), 400) for field in (
        "X", "X y", ": y", "X : y", "X\t: y", " X: y", "\tX: y", "X\x00: y", "X(: y", "X\xe9: y", "X y: z",
        "X: \x00", "X: a\x00b", "X: \x01", "X: \x1b[0m", "X: \x7f", "X: a\rb", "X: a\nb", "\x00: y",
        "X: y\r\n z", "X: y\r\n\tz", "X,Y: z", "X;: z", "\"X\": y", "X/Y: z", "[X]: y", "X@: y", "{X}: y")],
    *[Case("RFC 9110 5.5", get(fields=field + "\r\n"), 200, KEPT) for field in (
        "X:", "X: ", "X:y", "X:\ty", "X: \xe9\xff", "X: \"a, b\"", "X: y\t", "x-!#$%&'*+.^_`|~9: y",
        "X: y\r\nX: z", "X: " + "y" * 8000, "Accept: a\r\nAccept: b", "Cookie: a=b", "X: ::",
        "X: \u00fc", "A: 1\r\n" * 99 + "B: 2")],
    *cases("RFC 9110 15.5.22", CLOSED, 431, get(fields="X: " + "y" * 17000 + "\r\n"),
           get(fields="X: y\r\n" * 3000), get(fields="y" * 17000 + ": x\r\n")),
    *[Case("RFC 9110 5.3", put_with(field * 2), 400) for field in (
        "Content-Type: application/json\r\n", "Authorization: Bearer x\r\n", "Expect: 100-continue\r\n",
        "Origin: http://localhost\r\n", "Idempotency-Key: k\r\n", "X-Request-Id: a\r\n",
        "Last-Event-ID: 1\r\n", "webhook-id: a\r\n", "webhook-signature: v1,a\r\n")],
    *[Case("RFC 9110 5.4", get(fields=f"X-Request-Id: {value}\r\n"), 200, KEPT) for value in (
        "a", "a" * 128, "a" * 129, "a b", "\xe9", "")],
]

GOOD_HOSTS = ["localhost", "localhost:4654", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1",
              "127.255.0.1:65535", "[::1]", "[::1]:80", "[0:0::1]", "localhost:", "[::ffff:127.0.0.1]"]
BAD_HOSTS = ["", " ", "localhost:x", "localhost:65536", "localhost:0", "localhost:-1", "localhost:+80",
             "localhost: 80", "localhost :80", "localhost:80:80", "::1", "[::1", "::1]", "[]", "[::1]x",
             "[::1]:x", "[127.0.0.1]", "[::1%25lo]", "[v1.x]", "local%68ost", "localhost%00", "%",
             "u@localhost", "u:p@localhost", "@localhost", "localhost/", "localhost/livez", "localhost?",
             "localhost#", "http://localhost", "//localhost", "localhost, localhost", "a b", "\"localhost\"",
             "<localhost>", "local\\host", "l\xf6calhost", "localhost;q=1,", ":80", ":", "[", "]",
             "localhost:00000080", "loc`alhost", "{localhost}", "local|host", "^"]
OTHER_HOSTS = ["evil.example", "evil.example:4654", "localhost.evil.example", "127.0.0.1.nip.example",
               "10.0.0.1", "0.0.0.0", "[::]", "[fd00::7]:4654", "127.1", "2130706433", "0177.0.0.1",
               "0x7f.0.0.1", "xlocalhost", "localhost.localdomain", "*", ".", "-", "..localhost.x", "::1".replace(":", "-")]
HOSTS = [
    *[Case("RFC 9110 7.2", get(host=f"Host: {host}\r\n"), 200, KEPT) for host in GOOD_HOSTS],
    *[Case("RFC 9112 3.2", get(host=f"Host: {host}\r\n"), 400) for host in BAD_HOSTS],
    *[Case("RFC 9110 15.5.20", put(host=f"Host: {host}\r\n"), 421, KEPT) for host in OTHER_HOSTS],
    *cases("RFC 9112 3.2", CLOSED, 400, get(host=""), get(host=HOST + HOST),
           get(host=HOST + "Host: other\r\n"), get(host=HOST + "HOST: localhost\r\n"),
           get(host="", fields="X-Forwarded-Host: localhost\r\n"), get("http://localhost/livez", host=""),
           get(host="Host : localhost\r\n"), get(host="Host\r\n"), get(host=HOST + "host:\r\n")),
    Case("RFC 9110 15.5.20", get(host="Host: evil.example\r\n", version="HTTP/1.0"), 421),
    Case("RFC 9112 3.2", get(host="Host: a:b\r\n", version="HTTP/1.0"), 400),
]

CONNECTIONS = [
    *[Case("RFC 9110 7.6.1", get(fields=f"Connection:{value}\r\n"), 200) for value in (
        " close", "close", " CLOSE", " close\t", "\tclose \t", " x, close", " close, x", " keep-alive, close",
        " close\r\nConnection: x", " x\r\nConnection: close", " ,close,", " x ,\tClose\t, y")],
    *[Case("RFC 9110 7.6.1", get(fields=f"Connection:{value}\r\n"), 200, KEPT) for value in (
        " keep-alive", " x", "", " closed", " \"close\"", " xclose", " clo se", " close;x", " upgrade")],
    Case("RFC 9112 9.3", get(version="HTTP/1.0", fields="Connection: x, close, keep-alive\r\n"), 200),
    *cases("RFC 9110 7.8", KEPT, 200, get(fields="Connection: Upgrade\r\nUpgrade: websocket\r\n"),
           get(fields="Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"),
           get(fields="Upgrade: TLS/1.0\r\n")),
    Case("RFC 9110 7.8", put_with("Connection: Upgrade\r\nUpgrade: h2c\r\n"), 200, CHANGED),
    Case("RFC 9112 9.6", put_with("Connection: close\r\n"), 200, ENDED),
    Case("RFC 9112 9.6", put_with("Connection: close\t\r\n"), 200, ENDED),
    *cases("RFC 9110 10.1.1", CHANGED, [100, 200], put_with("Expect: 100-continue\r\n"),
           put_with("Expect: 100-Continue\r\n"), put_with("expect:100-continue \r\n")),
    Case("RFC 9110 10.1.1", raw(get(fields="Expect: 100-continue\r\n")), 200, KEPT),
    Case("RFC 9110 10.1.1", put_with("Expect: 100-continue\r\n", version="HTTP/1.0"), 200, ENDED),
    *[Case("RFC 9110 15.5.18", put_with(f"Expect: {value}\r\n"), 417) for value in (
        "200-ok", "100", "continue", "100-continue, x", "100-continue;q=1", "x=y", "", "\"100-continue\"")],
    Case("RFC 9110 10.1.1", put_with("Expect: 100-continue\r\n", target="/nothing"), 404),
    Case("RFC 9110 10.1.1", raw(head(f"PUT {PATH} HTTP/1.1", "Expect: 100-continue\r\n"
                                     "Content-Length: 99999999\r\n")), 413),
    Case("RFC 9110 10.1.1", put_with("Expect: 100-continue\r\n", host="Host: evil\r\n"), 421),
]

TABLES = {"lines": LINES, "versions": VERSIONS, "methods": METHODS, "targets": TARGETS,
          "fields": FIELDS, "hosts": HOSTS, "connections": CONNECTIONS}
assert BODY
