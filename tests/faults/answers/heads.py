"""Heads of HTTP, redirects and chunks that are wrong or have no end."""

from itertools import chain, repeat

from fairlead.models.common.retry import MAX_ATTEMPTS
from faults.answers.parts import (
    BEGIN,
    BROKEN,
    EMPTY,
    HELLO,
    LATE,
    MEGABYTE,
    NO_HTTP,
    OK,
    SILENT,
    Answer,
    chunked,
    endless,
    head,
    once,
    trickle,
)
from support.raw_server import HOLD

HEADS = [
    Answer("two lengths that differ", once(head(OK, b"content-length: 5", b"content-length: 7"), HELLO), NO_HTTP),
    Answer("a list of lengths that differ", once(head(OK, b"content-length: 5, 7"), HELLO), NO_HTTP),
    Answer("one length twice", once(head(OK, *[b"content-length: %d" % len(HELLO)] * 2), HELLO), "Hello.", 1, ""),
    Answer("a negative length", once(head(OK, b"content-length: -1"), HELLO), NO_HTTP),
    Answer("a length that is no number", once(head(OK, b"content-length: many"), HELLO), NO_HTTP),
    Answer("a length of 4,000 digits", once(head(OK, b"content-length: " + b"9" * 4000), HELLO), NO_HTTP),
    Answer("a length of a petabyte", once(head(OK, b"content-length: " + b"9" * 15), HELLO, HOLD), "Hello.", 1, ""),
    Answer("a body that is too short", once(head(OK, b"content-length: 9999"), HELLO[:90]), BROKEN, MAX_ATTEMPTS),
    Answer("an unknown transfer coding", once(head(OK, b"transfer-encoding: gzip, chunked"), HELLO), NO_HTTP),
    Answer("chunked twice", once(head(OK, b"transfer-encoding: chunked, chunked"), HELLO), NO_HTTP),
    Answer(
        "a length and chunks",
        once(
            head(OK, b"content-length: 3", b"transfer-encoding: chunked"),
            b"%x\r\n%b\r\n0\r\n\r\n" % (len(HELLO), HELLO),
        ),
        "Hello.",
        1,
        "",
    ),
    Answer("a line without a colon", once(head(OK, b"hello"), HELLO), NO_HTTP),
    Answer("a space in a name", once(head(OK, b"content type: text/html"), HELLO), NO_HTTP),
    Answer("a NUL in a value", once(head(OK, b"x: a\0b"), HELLO), NO_HTTP),
    Answer(
        "bytes beyond ASCII in a value", once(head(OK, b"x: \xff\xfe", b"connection: close"), HELLO), "Hello.", 1, ""
    ),
    Answer("a continuation before the first line", once(head(OK, b" folded"), HELLO), NO_HTTP),
    Answer("thousands of continuations", once(head(OK, b"x: 1", *[b" 2"] * 20_000), HELLO), "Hello.", 1, ""),
    Answer("blanks in a value", once(head(OK, b"x: a" + b" " * 90_000 + b"b" + b" \t" * 2000), HELLO), "Hello.", 1, ""),
    Answer("thousands of lines", once(head(OK, *[b"a:b"] * 18_000), HELLO), "Hello.", 1, ""),
    Answer(
        "thousands of cookies", once(head(OK, *[b"set-cookie: c%d=1" % n for n in range(4000)]), HELLO), "Hello.", 1, ""
    ),
    Answer("lines without end", endless(b"HTTP/1.1 200 OK\r\n", b"x: 1\r\n" * 100), NO_HTTP),
    Answer("a header line without end", endless(b"HTTP/1.1 200 OK\r\nx: ", MEGABYTE), NO_HTTP),
    Answer("a status line without end", endless(b"HTTP/1.1 200 ", MEGABYTE), NO_HTTP),
    Answer("another protocol", once(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), NO_HTTP),
    Answer("a TLS alert", once(b"\x15\x03\x01\x00\x02\x02\x50"), NO_HTTP),
    Answer("random bytes without end", endless(b"", bytes(range(33, 256)) * 100), NO_HTTP),
    Answer("NULs", once(b"\0" * 1000), NO_HTTP),
    Answer("empty lines", once(b"\r\n\r\n\r\n"), NO_HTTP),
    Answer("a status that is no number", once(b"HTTP/1.1 okay\r\n\r\n"), NO_HTTP),
    Answer("a status of four digits", once(b"HTTP/1.1 2000 OK\r\n\r\n"), NO_HTTP),
    Answer("a body without a head", once(HELLO), NO_HTTP),
    Answer("the end before a head", once(), BROKEN, MAX_ATTEMPTS),
    Answer("the end within a head", once(b"HTTP/1.1 200 OK\r\ncontent-ty"), BROKEN, MAX_ATTEMPTS),
    Answer("100, then the answer", once(b"HTTP/1.1 100 Continue\r\n\r\n" * 3, head(), HELLO), "Hello.", 1, ""),
    Answer("100 without end", endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, 10**12), LATE, 1, silence=0.5),
    Answer(
        "another protocol after 101",
        once(b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", HELLO),
        NO_HTTP,
    ),
    Answer("no content", once(head("204 No Content", b"connection: close")), EMPTY, MAX_ATTEMPTS),
    Answer("silence", once(HOLD), SILENT, 1, silence=0.5),
    Answer("a head byte by byte", trickle(chain(head(), repeat(0x78, 10_000))), LATE, 1, silence=0.5),
    Answer("silence after the head", once(head(), BEGIN, HOLD), SILENT, 1, silence=0.5),
    Answer(
        "random bytes instead of TLS",
        once(b"\x16\x03\x03\x40\x00" + b"\xaa" * 20_000),
        "No connection to https://",
        5,
        scheme="https",
    ),
    Answer("HTTP instead of TLS", once(head(), HELLO), "No connection to https://", 5, scheme="https"),
]

REDIRECTS = [
    Answer(
        "a circle",
        once(head("307 Temporary Redirect", b"location: /v1/messages", b"connection: close")),
        "redirects again and again. Check the base URL",
        21,
        "wrong_server",
    ),
    Answer(
        "a redirect whose body never ends",
        endless(head("308 Permanent Redirect", b"location: /x", b"connection: close"), MEGABYTE),
        "redirects again and again",
        21,
        "wrong_server",
        slow=True,
    ),
    Answer(
        "a redirect without a target",
        endless(head("302 Found", b"connection: close"), MEGABYTE),
        "refused the request. (302: xxx",
        1,
        "invalid_request",
    ),
    Answer(
        "a redirect to nonsense",
        once(head("307 Temporary Redirect", b"location: http://[::bad", b"connection: close")),
        NO_HTTP,
    ),
    Answer("a redirect to 90 kB", once(head("307 Temporary Redirect", b"location: http://" + b"a" * 90_000)), NO_HTTP),
    Answer(
        "a redirect to a file",
        once(head("307 Temporary Redirect", b"location: file:///etc/passwd")),
        "redirects to file://.",
        1,
        "wrong_server",
    ),
]

CHUNKS = [
    Answer("no chunk size", chunked(b"zz\r\n", HELLO), NO_HTTP),
    Answer("a negative chunk size", chunked(b"-5\r\n", HELLO), NO_HTTP),
    Answer("a chunk size of 40 digits", chunked(b"f" * 40 + b"\r\n", HELLO), NO_HTTP),
    Answer("a chunk that is longer than its size", chunked(b"5\r\n", HELLO), NO_HTTP),
    Answer("a chunk without end", chunked(b"fffffff\r\n", HELLO[:90]), BROKEN, MAX_ATTEMPTS),
    Answer("an extension without end", endless(head(OK, b"transfer-encoding: chunked") + b"5;", MEGABYTE), NO_HTTP),
    Answer(
        "trailers without end",
        lambda: chain(
            [head(OK, b"transfer-encoding: chunked"), b"%x\r\n%b\r\n0\r\n" % (len(HELLO), HELLO)],
            repeat(b"a: b\r\n" * 1000, 5000),
        ),
        "Hello.",
        1,
        "",
    ),
    Answer(
        "one byte in each chunk", chunked(*[b"1\r\n%c\r\n" % byte for byte in HELLO], b"0\r\n\r\n"), "Hello.", 1, ""
    ),
    Answer("no last chunk", chunked(b"%x\r\n%b\r\n" % (len(HELLO[:90]), HELLO[:90])), BROKEN, MAX_ATTEMPTS),
    Answer(
        "a comment in chunks of a byte",
        endless(head(OK, b"transfer-encoding: chunked"), b"1\r\nx\r\n" * 10_000, 10**12),
        "sent something without",
        ends=False,
    ),
]
