"""docs/faults.md 1 to 5, 12 to 14, 31, 33 and 40: files and commands, through the server process."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import edit
from support.client import Client

Replay = Callable[..., dict[str, Any]]


async def accept_all(client: Client, session: str) -> list[str]:
    review = await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
    return [outcome["outcome"] for outcome in review["outcomes"]]


BYTES: list[tuple[str, bytes, str, str, bytes]] = [
    ("fault_01_crlf", b"a\r\nb\r\nc\r\n", "a\nb", "a\nB", b"a\r\nB\r\nc\r\n"),
    ("fault_01_crlf_more_lines", b"a\r\nb\r\nc\r\n", "b", "b1\nb2", b"a\r\nb1\r\nb2\r\nc\r\n"),
    ("fault_02_bom_no_final_newline", b"\xef\xbb\xbfa\nb", "b", "c", b"\xef\xbb\xbfa\nc"),
    ("fault_02_end_of_file", b"a\nlast", "last", "last\nmore", b"a\nlast\nmore"),
    ("emoji", "🚀 = 1\nx = '🚀'".encode(), "x = '🚀'", "x = '🎉🚀'", "🚀 = 1\nx = '🎉🚀'".encode()),
    ("mixed_line_endings", b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n"),
    ("form_feed_inside", b"a\x0cb\nc\n", "c", "C", b"a\x0cb\nC\n"),
    ("latin_1", b"caf\xe9 x\n", "x", "y", b"caf\xe9 y\n"),
    ("fault_135_damaged", "日".encode() + b"\xe9 x\n", "x", "ü", "日".encode() + b"\xe9 \xc3\xbc\n"),
    ("utf_16", "caf\u00e9\r\nx".encode("utf-16"), "x", "日", "caf\u00e9\r\n日".encode("utf-16")),
]


@pytest.mark.parametrize(("name", "before", "old", "new", "after"), BYTES, ids=[row[0] for row in BYTES])
async def test_only_the_edited_bytes_change(
    workspace: Path, replay: Replay, name: str, before: bytes, old: str, new: str, after: bytes
) -> None:
    """docs/faults.md 1 and 2: line endings, the BOM and the missing final newline stay."""
    file = workspace / "f.txt"
    file.write_bytes(before)
    async with Client(workspace, settings=replay({"calls": [edit("f.txt", old, new)]}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        assert file.read_bytes() == before
        assert await accept_all(client, session) == ["applied"]
    assert file.read_bytes() == after


REFUSED: list[tuple[str, bytes, str, list[str]]] = [
    ("fault_03_twice", b"x\ny\nx\n", "x", ["2 times", "lines 1, 3"]),
    ("fault_04_nfd", "cafe\u0301\n".encode(), "caf\u00e9", ["Unicode form", "NFD"]),
    ("fault_05_tabs", b"all:\n\tmake\n", "all:\n    make\n", ["tabs where old_text has spaces", "→make"]),
    ("fault_12_binary", b"a\0b", "a", ["binary file"]),
    ("fault_12_control_characters", b"caf\xe9\x01\n", "caf", ["binary file"]),
]


@pytest.mark.parametrize(("name", "content", "old", "said"), REFUSED, ids=[row[0] for row in REFUSED])
async def test_an_edit_that_cannot_be_made_explains_itself(
    workspace: Path, replay: Replay, name: str, content: bytes, old: str, said: list[str]
) -> None:
    """docs/faults.md 3, 4, 5, 12: the error says what the file contains, and no change is proposed."""
    file = workspace / "f"
    file.write_bytes(content)
    async with Client(workspace, settings=replay({"calls": [edit("f", old, "z")]}, {"text": "."})) as client:
        await client.run()
        finished = client.events("tool_finished")[0]
        assert finished["isError"] is True
        for part in said:
            assert part in finished["text"]
        assert client.last("agent/edits") is None
    assert file.read_bytes() == content


async def test_fault_12_a_sparse_file_of_two_gigabytes_is_refused(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 12: the error says that it is too large."""
    with (workspace / "big").open("wb") as file:
        file.truncate(2_000_000_000)
    async with Client(workspace, settings=replay({"calls": [{"read_file": {"path": "big"}}]}, {"text": "."})) as client:
        await client.run()
        assert "too large" in client.events("tool_finished")[0]["text"]


async def test_fault_13_the_second_of_two_edits_is_accepted_alone(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 13: of two separate edits, only the second is applied; the first stays proposed."""
    file = workspace / "f"
    file.write_text("1\n2\n3\n4\n5\n")
    settings = replay({"calls": [edit("f", "1\n", "one\nmore\n"), edit("f", "5", "five")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        found = client.last("agent/edits")["files"][0]
        target = {"uri": found["uri"], "hunk": found["hunks"][1]["id"]}
        await client.request("agent/edits/accept", {"sessionId": session, "target": target})
        assert file.read_text() == "1\n2\n3\n4\nfive\n"
        assert [h["id"] for h in client.last("agent/edits")["files"][0]["hunks"]] == [found["hunks"][0]["id"]]
        assert await accept_all(client, session) == ["applied"]
    assert file.read_text() == "one\nmore\n2\n3\n4\nfive\n"


async def test_fault_14_new_files_are_created_in_a_new_folder(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 14: an accept creates new files, but does not overwrite the user's own; a reject creates none."""
    calls = [{"write_file": {"path": f"new/{name}.txt", "content": name}} for name in "abc"]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        assert list(workspace.iterdir()) == []
        uris = {file["uri"][-5]: file["uri"] for file in client.last("agent/edits")["files"]}
        await client.request("agent/edits/reject", {"sessionId": session, "target": {"uri": uris["a"]}})
        (workspace / "new").mkdir()
        (workspace / "new" / "b.txt").write_text("mine")
        assert sorted(await accept_all(client, session)) == ["applied", "conflict"]
    assert {p.name: p.read_text() for p in (workspace / "new").iterdir()} == {"b.txt": "mine", "c.txt": "c"}


async def test_fault_31_control_sequences_are_removed_from_output(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 31: only colors remain for the user, and plain text for the model. Invalid UTF-8 is replaced."""
    (workspace / "wild").write_bytes(
        b"\xff\xfe ok \x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://x\x1b\\link end\x00\n"
    )
    settings = replay({"calls": [{"bash": {"command": "cat wild"}}]}, {"text": "."})
    async with Client(
        workspace, settings=settings, answers={"agent/approve": lambda _: {"option": "allow_once"}}
    ) as client:
        await client.run()
        assert client.text("tool_output") == "\ufffd\ufffd ok \x1b[31mred\x1b[0m  link end\n"
        assert client.events("tool_finished")[0]["text"].startswith("\ufffd\ufffd ok red  link end\n")


async def test_fault_33_links_that_lead_outside_are_refused(workspace: Path, tmp_path: Path, replay: Replay) -> None:
    """docs/faults.md 33 and 43: a read or a write fails if the file or a folder of its path is such a link.

    A link that leads to a file inside works.
    """
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (workspace / "real").write_text("inside\n")
    os.symlink(outside / "secret", workspace / "file")
    os.symlink(outside, workspace / "folder")
    os.symlink(outside / "not-there", workspace / "dangling")
    os.symlink("real", workspace / "link")
    bad = ["file", "folder/secret", "folder/new", "dangling"]
    calls = [{"read_file": {"path": path}} for path in bad]
    calls += [{"write_file": {"path": path, "content": "x"}} for path in bad]
    calls += [{"search": {"pattern": "secret"}}, edit("link", "inside", "INSIDE")]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        texts = [event["text"] for event in client.events("tool_finished")]
        assert texts[:8] == [f"Error: Path escapes workspace: {path}" for path in bad * 2]
        assert texts[8] == "No matches."
        assert await accept_all(client, session) == ["applied"]
    assert (workspace / "real").read_text() == "INSIDE\n"
    assert (workspace / "link").is_symlink()
    assert {p.name: p.read_text() for p in outside.iterdir()} == {"secret": "secret"}


async def test_fault_40_commands_get_no_key(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 40, the part for commands: their environment contains no API key."""
    settings = replay({"calls": [{"bash": {"command": "env"}}]}, {"text": "."})
    env = {"ANTHROPIC_API_KEY": "sk-secret", "ANTHROPIC_AUTH_TOKEN": "tok-secret"}
    env["AWS_BEARER_TOKEN_BEDROCK"] = "bedrock-secret"
    answers = {"agent/approve": lambda _: {"option": "allow_once"}}
    async with Client(workspace, settings=settings, env=env, answers=answers) as client:
        await client.run()
        assert "secret" not in str(client.log)
        assert "PATH=" in client.text("tool_output")
