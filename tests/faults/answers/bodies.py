"""Bodies: compressed, of errors, and as streams of events."""

import gzip
import zlib
from itertools import chain, repeat

from fairlead.models.common.retry import MAX_ATTEMPTS
from faults.answers.parts import (
    BEGIN,
    CUT,
    EMPTY,
    HELLO,
    HUGE,
    JSON_400,
    LONG_EVENT,
    MANY_LINES,
    MEGABYTE,
    NO_CODING,
    NO_HTTP,
    OK,
    PACKED,
    REFUSED,
    SAID,
    WITHOUT_FIELDS,
    Answer,
    end,
    endless,
    event,
    head,
    once,
    packed,
    start,
    stop,
    stream,
    trickle,
    zeros,
)

CODINGS = [
    Answer("a gzip bomb", zeros(), LONG_EVENT),
    Answer("a deflate bomb", zeros(coding=b"deflate", bits=15), LONG_EVENT),
    Answer("a raw deflate bomb", zeros(coding=b"deflate", bits=-15), LONG_EVENT),
    Answer("a gzip bomb of empty lines", packed(lambda: repeat(b"\n" * 1_000_000, 150)), MANY_LINES),
    Answer(
        "a gzip bomb in gzip",
        once(
            head(OK, b"content-encoding: gzip, gzip", b"connection: close"),
            gzip.compress(gzip.compress(b": " + b"x" * 30_000_000)),
        ),
        LONG_EVENT,
    ),
    Answer("six codings", once(head(OK, b"content-encoding: " + b"gzip, " * 6), HELLO), NO_CODING),
    Answer("ten thousand codings", once(head(OK, b"content-encoding: " + b"gzip," * 10_000), HELLO), NO_CODING),
    Answer("no gzip", once(head(OK, b"content-encoding: gzip", b"connection: close"), HELLO), NO_CODING),
    Answer(
        "half of a gzip",
        once(head(OK, b"content-encoding: gzip", b"connection: close"), gzip.compress(HELLO)[:-40]),
        CUT,
        MAX_ATTEMPTS,
    ),
    Answer("more after a gzip", endless(head(OK, b"content-encoding: gzip") + gzip.compress(BEGIN), MEGABYTE), PACKED),
    Answer(
        "empty blocks of a gzip",
        endless(head(OK, b"content-encoding: deflate") + zlib.compress(BEGIN, 0)[:2], b"\0\0\0\xff\xff" * 100_000),
        PACKED,
    ),
    Answer(
        "a coding that was not offered",
        once(head(OK, b"content-encoding: br", b"connection: close"), b"\x0b\x02\x80" * 50),
        "instead of a stream of events",
        1,
        "wrong_server",
    ),
    Answer("an unknown coding", once(head(OK, b"content-encoding: x", b"connection: close"), HELLO), "Hello.", 1, ""),
    Answer("a correct gzip", packed(lambda: [HELLO]), "Hello.", 1, ""),
]

ERRORS = [
    Answer(
        "400 with 150 MB",
        endless(head("400 Bad Request", *JSON_400) + SAID, b"!" * 1_000_000),
        REFUSED,
        WITHOUT_FIELDS,
        "invalid_request",
    ),
    Answer("400 that is a gzip bomb", zeros("400 Bad Request"), REFUSED, WITHOUT_FIELDS, "invalid_request"),
    Answer(
        "500 that is a gzip bomb",
        zeros("500 Internal Server Error"),
        f"(500: {SAID.decode()}",
        MAX_ATTEMPTS,
        "internal",
    ),
    Answer(
        "400 byte by byte",
        lambda: chain([head("400 Bad Request", *JSON_400), SAID], trickle(repeat(33, 1000))()),
        REFUSED,
        WITHOUT_FIELDS,
        "invalid_request",
        slow=True,
    ),
    Answer(
        "400 with 60,000 digits",
        once(head("400 Bad Request", *JSON_400), SAID + b"1" * 60_000 + b'"}}'),
        "(400: Never again111",
        WITHOUT_FIELDS,
        "invalid_request",
    ),
    Answer(
        "400 with 60,000 titles",
        once(
            head("400 Bad Request", b"content-type: text/html", b"connection: close"), b"<html>" + b"<title>" * 60_000
        ),
        "The model's server refused the request. (400",
        WITHOUT_FIELDS,
        "invalid_request",
    ),
    Answer(
        "400 with deep lists",
        once(head("400 Bad Request", *JSON_400), b"[" * 60_000),
        "(400: [[[[",
        WITHOUT_FIELDS,
        "invalid_request",
    ),
    Answer(
        "400 with NULs and no UTF-8",
        once(head("400 Bad Request", *JSON_400), b"\0\xff\xfe\x80" * 1000),
        "(400: ",
        WITHOUT_FIELDS,
        "invalid_request",
    ),
    Answer(
        "400 in Punycode",
        once(
            head("400 Bad Request", b"content-type: text/html; charset=punycode", b"connection: close"), b"a" * 60_000
        ),
        "(400: ",
        WITHOUT_FIELDS,
        "invalid_request",
    ),
    Answer(
        "400 with two lengths", once(head("400 Bad Request", b"content-length: 1", b"content-length: 2"), SAID), NO_HTTP
    ),
    Answer(
        "429 with a pause of 90,000 digits",
        once(head("429 Too Many Requests", b"retry-after: " + b"9" * 90_000), SAID),
        "(429: ",
        MAX_ATTEMPTS,
        "rate_limit",
    ),
    Answer(
        "413 with sizes of 5,000 digits",
        once(
            head("413 Too Large", *JSON_400),
            b'{"error": {"message": "prompt is too long: %b tokens > 1 maximum"}}' % (b"9" * 5000),
        ),
        "cannot be shortened any further",
        1,
        "context_overflow",
    ),
]

STREAMS = [
    Answer("a line without end", endless(head() + BEGIN + b"data: ", MEGABYTE), LONG_EVENT),
    Answer("lines of data without end", endless(head() + BEGIN, b"data: x\n" * 10_000), LONG_EVENT),
    Answer("an event of 3 MB", stream(BEGIN, start({"type": "text", "text": "x" * 3_000_000})), LONG_EVENT),
    Answer(
        "an event of 1.7 MB",
        stream(BEGIN, start({"type": "text", "text": "x" * 1_700_000}), stop(), end()),
        "xxx",
        1,
        "",
    ),
    Answer("comments without end", endless(head() + BEGIN, b": x\n\n" * 10_000), MANY_LINES),
    Answer("long comments without end", endless(head() + BEGIN, b": " + b"x" * 100_000 + b"\n\n"), HUGE),
    Answer("pings without end", endless(head() + BEGIN, event("ping") * 10_000), MANY_LINES, slow=True),
    Answer(
        "a comment now and then",
        lambda: chain([head(), BEGIN], (part for _ in repeat(0) for part in (b": x\n\n", 0.05))),
        "",
        ends=False,
    ),
    Answer("empty lines without end", endless(head(), b"\n" * 1_000_000), MANY_LINES),
    Answer("NULs without end", endless(head(), b"\0" * 1_000_000), "instead of a stream of events", 1, "wrong_server"),
    Answer("no UTF-8", stream(BEGIN, b"data: \xff\xfe\xfa\n\n"), "sent an event that is not JSON"),
    Answer("UTF-16", stream(HELLO.decode().encode("utf-16")), "instead of a stream of events", 1, "wrong_server"),
    Answer("a byte order mark", stream(b"\xef\xbb\xbf", HELLO), "Hello.", 1, ""),
    Answer("only carriage returns", stream(HELLO.replace(b"\n", b"\r")), EMPTY, MAX_ATTEMPTS),
    Answer(
        "a page as an event stream",
        stream(b"<!DOCTYPE html><title>Sign in</title>" + b"x" * 9000),
        "with a web page instead of a stream of events: “Sign in”",
        1,
        "proxy",
    ),
    Answer(
        "an event stream as a page",
        once(head(OK, b"content-type: text/html", b"connection: close"), HELLO),
        "Hello.",
        1,
        "",
    ),
    Answer(
        "a page without end",
        endless(head(OK, b"content-type: text/html") + b"<html>", MEGABYTE),
        "with a web page",
        1,
        "proxy",
    ),
    Answer(
        "JSON without end",
        endless(head(OK, b"content-type: application/json") + b'{"a":"', MEGABYTE),
        "instead of a stream of events",
        1,
        "wrong_server",
    ),
    Answer(
        "a page byte by byte",
        lambda: chain([head()], trickle(b"<html>" + b"x" * 1000)()),
        "with a web page",
        1,
        "proxy",
        slow=True,
    ),
    Answer(
        "events after the end", lambda: chain([head(), HELLO], repeat(event("ping") * 10_000, 500)), "Hello.", 1, ""
    ),
    Answer("deep lists", stream(BEGIN, b"data: " + b"[" * 1_000_000 + b"\n\n"), "sent an event that is not JSON"),
    Answer(
        "a number of 1 MB",
        stream(BEGIN, b'data: {"type":"ping","a":' + b"9" * 1_000_000 + b"}\n\n"),
        "sent an event that is not JSON",
    ),
]
