"""Pictures in a prompt (docs/protocol.md, `ContextItem`)."""

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from lsp.test_rewind import rewind
from support.client import Client, Json
from support.conversations import shown_texts
from support.fake_api import FakeApi, HttpError, Request, Text, Turn
from support.pictures import GIF, HEIC, WEBP, jpeg, png

pytestmark = pytest.mark.slow

Connect = Callable[..., Client]

DONE = Turn((Text("Done."),))
MEGABYTE = 1 << 20


def image(name: str = "shot.png", data: bytes | None = None) -> Json:
    return {"kind": "image", "name": name, "data": b64encode(png() if data is None else data).decode()}


def sized(size: int) -> bytes:
    """A PNG of this many bytes: zeros follow its end, which readers ignore."""
    return png() + bytes(size - len(png()))


def pictures(request: Request) -> list[tuple[str, str]]:
    """The media type and the base64 of all pictures in a request."""
    blocks = (block for message in request.body["messages"] for block in message["content"])
    sources = [block["source"] for block in blocks if block["type"] == "image"]
    return [(source["media_type"], source["data"]) for source in sources]


def sent(data: bytes, kind: str = "image/png") -> tuple[str, str]:
    return kind, b64encode(data).decode()


async def test_a_picture_reaches_the_model_and_only_its_name_the_user(connect: Connect) -> None:
    """Pictures follow the prompt in the order in which the client sent them. The next request has them unchanged."""
    kinds = {"image/png": png(), "image/jpeg": jpeg(), "image/gif": GIF, "image/webp": WEBP}
    context = [image(f"{kind}\n\u202e.x", data) for kind, data in kinds.items()]
    with FakeApi([DONE, DONE]) as api:
        async with connect(api) as client:
            session = (await client.run(context=context))["sessionId"]
            await client.run("And now?", sessionId=session)
            opened = await client.request("agent/sessions/open", {"sessionId": session})
        assert api.refusals == []
        expected = [sent(data, kind) for kind, data in kinds.items()]
        assert [pictures(request) for request in api.requests] == [expected, expected]
        places = api.requests[0].body["messages"][0]["content"][1]["text"]
    assert places.splitlines() == ["The user refers to:", *(f"- Picture: {kind}\\n\\u202e.x" for kind in kinds)]
    [event] = client.events("context")
    assert (event["text"], event["title"].count("Picture: ")) == (places, 4)
    assert shown_texts(opened, "prompt", "context", "text") == ["Do it.", places, "Done.", "And now?", "Done."]


async def test_a_named_file_with_a_picture_is_sent_as_a_picture(connect: Connect, workspace: Path) -> None:
    """The file's bytes decide whether it is a picture, not its name. A link is followed within the workspace. Pictures
    outside of the workspace or with a secret's name are not sent.
    """
    files = {"a.png": png(), "docs/b.dat": GIF, "id_rsa": png(), "c.heic": HEIC, "text.png": b"no picture\n"}
    for name, data in files.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_bytes(data)
    (workspace.parent / "outside.png").write_bytes(png())
    (workspace / "link.png").symlink_to("a.png")
    (workspace / "away.png").symlink_to(workspace.parent / "outside.png")
    (workspace / "large.png").write_bytes(sized(5 * MEGABYTE + 1))
    names = [*files, "link.png", "away.png", "../outside.png", "large.png", "a.png"]
    with FakeApi([DONE]) as api:
        async with connect(api) as client:
            await client.run(context=[{"uri": (workspace / name).as_uri()} for name in names])
        assert api.refusals == []
        [request] = api.requests
        assert pictures(request) == [sent(png()), sent(GIF, "image/gif"), sent(png())]
        lines = request.body["messages"][0]["content"][1]["text"].splitlines()[1:]
    assert lines[:2] == ["- Picture: a.png", "- Picture: docs/b.dat"]
    assert lines[2] == "- id_rsa (it looks like a secret; read_file asks the user)"
    assert lines[3].startswith("- c.heic (c.heic is a binary file")
    assert lines[4:6] == ["- text.png", "- Picture: link.png"]
    assert [line.startswith("- Picture") for line in lines[6:8]] == [False, False]
    assert lines[8:] == ["- Picture: large.png (too large: the limit for a picture is 5 MB)"]


WRONG: list[tuple[list[Json], str]] = [
    (
        [image("photo.heic", HEIC)],
        "photo.heic is not a picture that the model can read. Use PNG, JPEG, GIF or WebP.",
    ),
    ([image("", b"")], "unnamed is not a picture that the model can read."),
    ([image("a.png", sized(5 * MEGABYTE + 1))], "a.png is too large: the limit for a picture is 5 MB."),
    (
        [image(f"{n}.png") for n in range(11)],
        "10.png is one too many: the limit for a task is 10 pictures and 20 MB in total.",
    ),
    ([image(f"{n}.png", sized(5 * MEGABYTE - n)) for n in range(5)], "4.png is one too many: the limit for a task is"),
    ([{"kind": "image", "name": "a.png"}], "params.context[0].data is missing"),
    ([{"kind": "image", "data": ""}], "params.context[0].name is missing"),
    ([{"kind": "image", "name": 5, "data": ""}], "params.context[0].name must be a string"),
    ([{"kind": "image", "name": "a.png", "data": "no base64!"}], "params.context[0].data must be base64"),
]


async def test_an_invalid_picture_is_refused_before_the_run(connect: Connect) -> None:
    """The error is -32602, with a text for the user. Pictures at the limits are accepted, and a repeated picture counts
    once.
    """
    with FakeApi([DONE, DONE]) as api:
        async with connect(api) as client:
            for context, message in WRONG:
                error = await client.error("agent/runTask", {"prompt": "x", "context": context})
                assert (error.code, message in error.message) == (-32602, True), error.message
            four = [image(f"{n}.png", sized(5 * MEGABYTE)) for n in range(4)]
            assert (await client.run(context=four))["stopReason"] == "end_turn"
            ten = [image(f"{n}.png") for n in range(10)]
            assert (await client.run(context=[*ten, ten[0]]))["stopReason"] == "end_turn"
        assert [len(pictures(request)) for request in api.requests] == [4, 10]
        assert api.refusals == []


REFUSALS = {
    "Anthropic": HttpError(400, "invalid_request_error", "messages.0.content.2.image.source.base64: Could not process"),
    "Anthropic, without a place": HttpError(400, "invalid_request_error", "Could not process image"),
    "llama.cpp": HttpError(
        500, "", "", body={"error": {"code": 500, "message": "image input is not supported - hint: provide the mmproj"}}
    ),
    "vLLM": HttpError(400, "BadRequestError", "At most 0 image(s) may be provided in one prompt."),
}


@pytest.mark.parametrize("server", REFUSALS)
async def test_a_refused_picture_ends_the_run_but_not_the_conversation(connect: Connect, server: str) -> None:
    """The user learns why. In the next request, a note replaces the picture, so that the request is not refused for the
    same reason.
    """
    with FakeApi([REFUSALS[server], DONE]) as api:
        async with connect(api) as client:
            failed = await client.run(context=[image()])
            session = failed["sessionId"]
            again = await client.request("agent/runTask", {"sessionId": session, "continue": "paused"})
        assert len(api.requests) == 2
        first, second = api.requests
        assert (len(pictures(first)), pictures(second)) == (1, [])
        assert "The model's server refused it" in str(second.body["messages"][0])
    assert (failed["stopReason"], failed["error"]["kind"]) == ("error", "no_images")
    assert failed["message"].startswith("The model's server refused a picture, so the conversation continues without")
    assert again["stopReason"] == "end_turn"


async def test_without_pictures_a_refusal_about_images_is_an_ordinary_error(connect: Connect) -> None:
    """The message does not say that a picture was refused."""
    with FakeApi([REFUSALS["Anthropic, without a place"]] * 2) as api:
        async with connect(api) as client:
            failed = await client.run()
    assert "refused a picture" not in failed["message"]


async def test_pictures_are_saved_and_rewound_with_the_conversation(
    connect: Connect, workspace: Path, tmp_path: Path
) -> None:
    """After a restart, the pictures are sent to the model again. Rewinding to before their prompt removes them."""
    storage = tmp_path / "storage"
    with FakeApi([DONE] * 4) as api:
        async with connect(api, storage=storage) as client:
            session = (await client.run("First.", context=[image()]))["sessionId"]
        async with connect(api, storage=storage) as client:
            await client.run("Second.", sessionId=session)
            await rewind(client, session, "Second.")
            await client.run("Other.", sessionId=session)
            await rewind(client, session, "First.")
            await client.run("Anew.", sessionId=session)
        assert api.refusals == []
        assert [len(pictures(request)) for request in api.requests] == [1, 1, 1, 0]


async def test_the_oldest_pictures_make_room_for_new_ones(connect: Connect) -> None:
    """A request has at most 20 pictures, and 20 MB in total. Notes replace the pictures of the oldest prompts."""
    ten = [image(f"{n}.png") for n in range(10)]
    large = [image(f"{n}.png", sized(5 * MEGABYTE - n)) for n in range(4)]
    with FakeApi([DONE] * 5) as api:
        async with connect(api) as client:
            session = (await client.run(context=ten))["sessionId"]
            for context in (ten, [image("new.png", sized(MEGABYTE))], large, []):
                assert (await client.run("Next.", sessionId=session, context=context))["stopReason"] == "end_turn"
        assert api.refusals == []
        assert [len(pictures(request)) for request in api.requests] == [10, 20, 11, 4, 4]
        notes = [str(request.body["messages"]).count("to make room for newer ones") for request in api.requests]
    assert notes == [0, 0, 10, 21, 21]
    assert len(client.events("compacted")) == 2
