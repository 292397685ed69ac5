"""A session that goes through three APIs and returns, recorded: its recordings play it again without a model."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli.command import run_plain
from support.fake_api import Block, Call, FakeApi, Text, Thinking, Turn
from support.fake_openai import CHAT, RESPONSES, FakeOpenAi
from support.pictures import png

Json = dict[str, Any]
STEPS = ("Look", "Write", "Fix", "Tell")


def answers(current: int, *calls: Block) -> list[Turn]:
    """A round with thinking, an update of the plan and calls, then an answer."""
    statuses = ["completed"] * current + ["in_progress"] + ["pending"] * (len(STEPS) - current - 1)
    items = [{"content": step, "status": status} for step, status in zip(STEPS, statuses, strict=True)]
    said = (Thinking(f"Thinking about {STEPS[current]}."), Text(f"I {STEPS[current]}."))
    return [Turn((*said, Call("todo", {"items": items}), *calls)), Turn((Text(f"{STEPS[current]}: done."),))]


def edit(path: str, old: str, new: str) -> Call:
    return Call("edit_file", {"path": path, "old_text": f"{old}\n", "new_text": f"{new}\n"})


def play(folder: Path, sources: Sequence[Sequence[object]], names: Sequence[str], **keys: Any) -> Json:
    """Runs a task with each source, in one session; the last run accepts all. Returns the session's record."""
    workspace = folder / "ws"
    workspace.mkdir(parents=True)
    (workspace / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (workspace / "red.png").write_bytes(png())
    state = str(folder / "state")
    env = {**keys, "XDG_STATE_HOME": state, "WIN_PD_OVERRIDE_LOCAL_APPDATA": state}
    record = folder / "record.json"
    for number, source in enumerate(sources):
        options = [*source, *(["--record", folder / names[number]] if names else [])]
        options += ["--continue"] if number else []
        options += ["--accept", "none"] if number < len(sources) - 1 else ["--accept", "all", "--save-record", record]
        ended = run_plain("run", f"{STEPS[number]}.", "--workspace", workspace, *options, **env)
        assert ended.code == 0, ended.out + ended.err
        assert f"{STEPS[number]}: done." in ended.out
    saved = json.loads(record.read_text(encoding="utf-8"))
    return {name: saved[name] for name in ("prompts", "plan", "changes", "files")} | {
        "steps": [
            (step["content"], step["status"], step["work"]["files"], step["work"]["looks"]) for step in saved["steps"]
        ],
        "models": saved["models"],
        "on disk": {path.name: path.read_bytes() for path in workspace.iterdir()},
    }


def test_a_recorded_session_over_three_apis_plays_again(tmp_path: Path) -> None:
    """The plan, the changes with their steps, and the files are the same. No server refused what it was sent: a picture
    in a result, the calls of the others, and none of their thinking.
    """
    picture = Call("read_file", {"path": "red.png"})
    first, last = answers(0, picture, edit("a.txt", "one", "ONE")), answers(3, edit("a.txt", "TWO", "2"))
    second = answers(1, edit("a.txt", "two", "TWO"), Call("write_file", {"path": "b.txt", "content": "B\n"}))
    third = answers(2, edit("b.txt", "B", "b"), picture)
    names = [f"{number}.yaml" for number in range(4)]
    with (
        FakeApi([*first, *last], key="m") as messages,
        FakeOpenAi(second, require_key=False, server="vllm", paths=(CHAT,)) as chat,
        FakeOpenAi(third, key="r", paths=(RESPONSES,)) as responses,
    ):
        sources = [
            ("--endpoint", "anthropic", "--base-url", messages.url, "--model", "first"),
            ("--endpoint", "vllm", "--base-url", chat.base_url, "--model", "second"),
            ("--endpoint", "openai", "--base-url", responses.base_url, "--model", "third"),
            ("--endpoint", "anthropic", "--base-url", messages.url, "--model", "first"),
        ]
        keys = {"ANTHROPIC_API_KEY": "m", "OPENAI_API_KEY": "r"}
        played = play(tmp_path / "live", sources, names, **keys)
        assert (messages.refusals, chat.refusals, responses.refusals) == ([], [], [])
    assert played.pop("models") == ["first", "second", "third"]
    assert played["on disk"]["a.txt"] == b"ONE\n2\n" and played["on disk"]["b.txt"] == b"b\n"
    again = play(tmp_path / "again", [("--replay", tmp_path / "live" / name) for name in names], ())
    assert again.pop("models") == [f"replay ({name})" for name in names]
    assert again == played
