# SPDX-License-Identifier: Apache-2.0
"""What the cases of raw RESP share: the rules they come from, and short ways to write answers."""

from raw_client import encode as e

# After the answer the connection goes on, or the server has closed it.
OPEN, CLOSED = False, True

PING = e("PING")

# Each rule, and where it is written: the protocol's specification ("RESP"), what Redis does where
# that leaves room ("Redis"), docs/resp.md, or the numbered rules that hold everywhere ("rule").
RULES = {
    "inline": "RESP, Inline commands: words on a line, with quotes as redis-cli has them; an empty "
              "line is nothing",
    "inline-bounds": "docs/resp.md, Bounds: a line has at most 16 KiB and 1,024 words",
    "incomplete": "RESP, Sending commands: a request that is not whole is not carried out",
    "array-count": "RESP, Arrays: *<number>\\r\\n; Redis: no sign but -, no zero in front, -1 and "
                   "0 are nothing; at most 1,024",
    "bulk-length": "RESP, Bulk strings: $<length>\\r\\n<data>\\r\\n; a request has no null in it",
    "only-bulk": "RESP, Sending commands: a client sends arrays of bulk strings, and nothing else",
    "typed-is-inline": "RESP, Inline commands: what does not begin with * is a line of words",
    "pipeline": "RESP, Pipelining: answers come in the order of the requests, errors too; after a "
                "malformed one nothing is understood any more",
    "goodbye": "Redis, QUIT and RESET: what came before is answered, what comes after QUIT is not",
    "unknown": "Redis, unknown commands are an error that names them; nothing of Redis is a back "
               "door",
    "one-line": "RESP, Simple errors: an error is one line, whatever the client has put in it",
    "arity": "Redis, a wrong number of arguments is an error that names the command",
    "id-bounds": "rule 8: ids are 1-128 bytes of UTF-8 without spaces, controls, { and }",
    "number-bounds": "rule 8: integers from 0 to 2^53-1, in digits",
    "ttl-bounds": "rule 8: from 10 ms to 30 days, in seconds or with a unit",
    "options": "rule 6: a refused command has changed nothing; rule 11: the refusal "
               "names the argument and the bound",
    "hello": "Redis, HELLO [2|3 [AUTH user password] [SETNAME name]]",
    "version": "RESP3: maps and nulls of their own once HELLO 3 was said, until RESET",
    "transaction": "docs/resp.md, Transactions: MULTI, EXEC, DISCARD; one bad command spoils all",
    "client": "docs/resp.md, CLIENT",
    "command": "docs/resp.md, Others: COMMAND, CONFIG, SELECT, SLOWLOG, INFO",
    "http": "docs/resp.md: whoever speaks HTTP here is hung up on, and nothing is carried out",
    "before-auth": "docs/resp.md, Who it is: a stranger may say AUTH, HELLO, QUIT and RESET, and "
                   "learns nothing from the rest",
    "auth-forms": "Redis, AUTH [user] secret: a wrong one takes nothing away and tells nothing",
    "before-auth-bounds": "docs/resp.md, Who it is: a stranger sends 10 words of 16 KiB at most",
}


def error(text):
    return f"-{text}\r\n".encode()


def refusal(code, message):
    """A refusal is an ordinary reply: [0, code, message]."""
    return f"*3\r\n:0\r\n${len(code)}\r\n{code}\r\n${len(message)}\r\n{message}\r\n".encode()


def hello(version):
    """The answer to HELLO; the id of the connection and the version of the server are left out."""
    head = b"%7\r\n" if version == 3 else b"*14\r\n"
    return (head + b"$6\r\nserver\r\n$8\r\nholdfast\r\n$7\r\nversion\r\nVERSION\r\n"
            b"$5\r\nproto\r\n:%d\r\n" % version + b"$2\r\nid\r\nID\r\n"
            b"$4\r\nmode\r\n$10\r\nstandalone\r\n"
            b"$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n")


HELLO_2, HELLO_3 = hello(2), hello(3)
NOAUTH = error("NOAUTH Authentication required.")


def shown(value):
    """How an error shows a value: what cannot be printed is a question mark, and it is cut off."""
    return "".join(chr(byte) if 32 <= byte < 127 else "?" for byte in value[:48])


def bounds():
    """The bounds of ids, numbers and times, by one command each."""
    ids = [b"", b"a b", b"a\tb", b"a{b", b"a}b", b"a\0b", b"a\x7fb", b"\xff", b"\xc0\x80",
           b"\xed\xa0\x80", b"\xc2\x85", b"a" * 129, b"\xf4\x90\x80\x80", "\u00a0".encode(),
           "\u2028".encode(), b"a\r"]
    for name in ids:
        yield ("id-bounds", OPEN, refusal("INVALID_ID", (
            f'event "{shown(name)}" ({len(name)} bytes) is not an id: 1-128 bytes of UTF-8, no '
            'spaces, control characters, { or }')), [e("SEATS.OPEN", name, "z", 1)])
    for number in (b"1e3", b"0x10", b" 1", b"1 ", b"+1", b"", b"abc", b"--1", b"1\0", b"\xd9\xa1"):
        yield ("number-bounds", OPEN, error(f'ERR capacity "{shown(number)}" is not a number'),
               [e("SEATS.OPEN", "e", "z", number)])
    for number in (-1, 1 << 53, 99999999999999999999):
        said = min(number, (1 << 63) - 1)
        yield ("number-bounds", OPEN, refusal(
            "INVALID_QUANTITY", f"capacity is {said}: must be 0 to 9007199254740991"),
            [e("SEATS.OPEN", "e", "z", number)])
    reserve = ("SEATS.RESERVE", "none", "z", "b", "u", 1, 1, "TTL")
    for ttl in ("31d", "1.5", "1ss", "s", "", "1 s", "10us"):
        yield ("ttl-bounds", OPEN, error(
            f'ERR TTL "{ttl}" is not a duration such as 30, 1500ms, 10m, 2h'), [e(*reserve, ttl)])
    for ttl, ms in (("0", 0), ("-1", -1000), ("9ms", 9), ("2592001", 2592001000)):
        yield ("ttl-bounds", OPEN, refusal(
            "INVALID_TTL", f"TTL is {ms} ms: must be 10 to 2592000000 ms"), [e(*reserve, ttl)])
