"""Events of the Messages API, and the frames of a cloud, that are too many or too long."""

import json
from itertools import chain, repeat

from fairlead.models.common.retry import MAX_ATTEMPTS
from faults.answers.parts import (
    BEGIN,
    CALL,
    DENSE,
    DENSE_LIST,
    HELLO,
    LONG_BLOCK,
    LONG_REPLY,
    MANY_VALUES,
    NO_BEGIN,
    TEXT,
    THINKING,
    Answer,
    chunk_frame,
    delta,
    end,
    endless,
    event,
    events_of,
    frames,
    head,
    many,
    start,
    stop,
    stream,
    text,
    zeros,
)

CONTENT = [
    Answer("a text without end", many(lambda n: text("x" * 50_000) if n else start(TEXT), 1000), LONG_BLOCK),
    Answer(
        "a text in small parts",
        many(lambda n: text("ab" * 30) * 100 if n else start(TEXT), 1000),
        LONG_BLOCK,
        slow=True,
    ),
    Answer(
        "thinking without end",
        many(lambda n: delta("thinking_delta", "thinking", "x" * 50_000) if n else start(THINKING), 1000),
        LONG_BLOCK,
    ),
    Answer(
        "a call without end",
        many(lambda n: delta("input_json_delta", "partial_json", "[" * 50_000) if n else start(CALL), 1000),
        LONG_BLOCK,
    ),
    Answer(
        "signatures without end",
        many(lambda n: delta("signature_delta", "signature", "x" * 50_000) if n else start(THINKING), 1000),
        LONG_BLOCK,
    ),
    Answer("blocks without end", many(lambda n: start(TEXT, n) + stop(n), 100_000), "more than 1,000 parts"),
    Answer("open blocks without end", many(lambda n: start(TEXT, n), 100_000), "more than 1,000 parts"),
    Answer("long blocks", many(lambda n: start({"type": "text", "text": "x" * 900_000}, n) + stop(n), 20), LONG_REPLY),
    Answer(
        "calls without end",
        many(lambda n: start({**CALL, "id": f"t{n}"}, n) + stop(n), 100_000),
        "more than 1,000 parts",
    ),
    Answer(
        "900 calls",
        lambda: chain(
            [head(), BEGIN],
            (start({**CALL, "id": f"t{n}", "input": {"n": n}}, n) + stop(n) for n in range(900)),
            [end("tool_use")],
        ),
        "Done.",
        1,
        "",
    ),
    Answer(
        "a call with 200,000 objects",
        lambda: [
            head(),
            BEGIN,
            start(CALL),
            *(delta("input_json_delta", "partial_json", part) for part in ('{"a":[', DENSE, "0]}")),
            stop(),
            end("tool_use"),
        ],
        "Done.",
        1,
        "",
    ),
    Answer("an unknown block of 200,000 objects", stream(BEGIN, start({"type": "new", "a": DENSE_LIST})), MANY_VALUES),
    Answer(
        "a call that begins with 200,000 objects",
        stream(BEGIN, start({**CALL, "input": {"a": DENSE_LIST}}), stop(), end("tool_use")),
        "Done.",
        1,
        "",
    ),
    Answer(
        "unknown blocks of 900 kB",
        many(lambda n: start({"type": "new", "a": "x" * 900_000}, n) + stop(n), 20),
        LONG_REPLY,
    ),
    Answer(
        "an id of 1 MB", stream(BEGIN, start({**CALL, "id": "x" * 1_000_000})), "must have at most 2,000 characters"
    ),
    Answer(
        "a tool's name of 1 MB",
        stream(BEGIN, start({**CALL, "name": "x" * 1_000_000})),
        "must have at most 2,000 characters",
    ),
    Answer(
        "a stop reason of 1 MB", stream(HELLO.replace(b"end_turn", b"x" * 1_000_000)), "unknown to Fairlead: xxx", 1
    ),
    Answer(
        "a count of 4,000 digits", stream(BEGIN.replace(b": 3", b": " + b"9" * 4000)), "must be an integer up to 2^53"
    ),
    Answer(
        "600,000 edits",
        stream(
            BEGIN,
            b'data: {"type":"message_delta","context_management":{"applied_edits":[' + b"{}," * 600_000 + b"{}]}}\n\n",
        ),
        "must have at most 1,000 items",
    ),
    Answer(
        "an error of 1.7 MB",
        stream(BEGIN, event("error", error={"type": "x", "message": "1" * 1_700_000})),
        "The answer was interrupted. (111",
        MAX_ATTEMPTS,
        "internal",
    ),
    Answer("an event's type of 1 MB", stream(BEGIN, event("x" * 1_000_000), HELLO[len(BEGIN) :]), "Hello.", 1, ""),
    Answer("a part of a block that has not begun", stream(BEGIN, text("x", 10**11)), NO_BEGIN),
    Answer("quotes in quotes", stream(BEGIN, start(TEXT), text(">" * 100_000), stop(), end()), ">>>", 1, ""),
]

INPUTS = {
    "bash": {"command": "echo " + "'$(x)' " * 250_000},
    "search": {"pattern": "(a|b)*" * 300_000},
    "list_files": {"path": "a/" * 900_000},
    "read_file": {"path": "x" * 1_900_000},
    "write_file": {"path": "a.txt", "content": "x\n" * 600_000},
    "edit_file": {"path": "a.txt", "old_text": "x" * 900_000, "new_text": "y" * 900_000},
    "todo": {"items": [{"content": f"Step {n}", "status": "pending"} for n in range(6000)]},
    "ask_user": {"question": ">" * 1_000_000, "options": [str(n) for n in range(10_000)]},
}
"""By the name of a tool: an input that is almost too long."""
CALLS = [
    Answer(
        f"a long call of {name}",
        stream(
            BEGIN,
            start({**CALL, "name": name}),
            delta("input_json_delta", "partial_json", json.dumps(value)),
            stop(),
            end("tool_use"),
        ),
        "Done.",
        1,
        "",
    )
    for name, value in INPUTS.items()
]

FRAMES = [
    Answer("a correct stream of frames", frames(*map(chunk_frame, events_of(HELLO))), "Hello.", 1, "", cloud="bedrock"),
    Answer("a frame of 0 bytes", frames(b"\0" * 100), "sent a frame of 0 bytes", cloud="bedrock"),
    Answer("a frame of 4 GB", frames(b"\xff" * 100), "sent a frame of 4,294,967,295 bytes", cloud="bedrock"),
    Answer("a frame of 20 MB", frames(chunk_frame(b"x" * 15_000_000)), "sent a frame of 20,000,", cloud="bedrock"),
    Answer(
        "a frame with a wrong checksum",
        frames(chunk_frame(BEGIN)[:-4] + b"0000"),
        "a response that could not be read",
        cloud="bedrock",
    ),
    Answer(
        "frames without end",
        endless(head(), chunk_frame(b'{"type":"ping"}') * 100),
        "sent an answer of more than 333,333 frames",
        cloud="bedrock",
        slow=True,
    ),
    Answer(
        "a text in frames without end",
        lambda: chain(
            [head(), *map(chunk_frame, events_of(BEGIN + start(TEXT)))],
            repeat(chunk_frame(events_of(text("x" * 50_000))[0]), 1000),
        ),
        LONG_BLOCK,
        cloud="bedrock",
    ),
    Answer("frames in a gzip bomb", zeros(), "sent a frame of", cloud="bedrock"),
]
