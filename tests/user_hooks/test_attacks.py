"""What hooks and their files may do to the user (`attacks.yaml`): a real server process and real boxes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from support.client import Client, Json
from support.fake_api import Call, FakeApi, Text, Turn

pytestmark = pytest.mark.usefixtures("box")
CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "attacks.yaml").read_text())
DEEP_AND_LARGE = {
    "larger than 1,000,000 bytes": '{"hooks": {"Stop": [{"command": "' + "x" * 1_000_000 + '"}]}}',
    "recursion": '{"hooks": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "Expecting": '{"hooks": {"Stop": [{"command": "touch ran"',
}


def write(folder: Path, files: dict[str, str], home: Path) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.replace("{home}", str(home)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
async def test_an_attack(
    case: dict[str, Any], workspace: Path, home: Path, define: Callable[..., None], connect: Callable[..., Client]
) -> None:
    """docs/faults.md 238 to 242, 244, 245 and 260: nothing changes without a review, and no work is lost."""
    write(home, case.get("own", {}), home)
    write(workspace, {"b.txt": "user\n", **case.get("files", {})}, home)
    for name, target in case.get("links", {}).items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).symlink_to(target.replace("{home}", str(home)))
    if hooks := case.get("hooks"):
        define(**json.loads(json.dumps(hooks).replace("{home}", str(home))))
    before = _contents(workspace.parent), _contents(home)
    answers = {"agent/approve": lambda _: {"option": case.get("answer", "allow_once")}}
    with FakeApi([Turn((Call("write_file", {"path": "a.txt", "content": "agent\n"}),)), Turn((Text("Done."),))]) as api:
        async with connect(api, answers=answers) as client:
            result = await client.run()
            assert result["stopReason"] == "end_turn"
            assert len(client.all("agent/approve")) == case.get("asks", 0)
            ids = {event["toolCallId"] for event in client.events("tool_started") if event["name"] == "hook"}
            rows = [event["text"] for event in client.events("tool_finished") if event["toolCallId"] in ids]
            proposed = await _proposed(client, workspace)
            got = [json.dumps(client.log, ensure_ascii=False), *(json.dumps(each.body) for each in api.requests)]
    assert (_contents(workspace.parent), _contents(home)) == before
    assert proposed == case.get("proposed", {"a.txt": "agent\n"})
    expected = case.get("rows", [])
    assert len(rows) == len(expected), rows
    for row, part in zip(rows, expected, strict=True):
        assert part in row
    for secret in case.get("hidden", []):
        assert json.dumps(secret)[1:-1] not in "".join(got)
    assert not [each for each in psutil.process_iter(["cmdline"]) if "100001" in (each.info["cmdline"] or [])]


@pytest.mark.parametrize("problem", DEEP_AND_LARGE)
async def test_a_file_that_cannot_be_read(problem: str, workspace: Path, connect: Callable[..., Client]) -> None:
    """docs/faults.md 247: the others count, and the page says what is wrong."""
    write(workspace, {".github/hooks/a.json": DEEP_AND_LARGE[problem]}, workspace)
    write(workspace, {".github/hooks/b.json": '{"hooks": {"SessionStart": [{"command": "echo hello"}]}}'}, workspace)
    answers: dict[str, Any] = {"agent/approve": lambda _: {"option": "allow_once"}}
    with FakeApi([Turn((Text("Done."),))]) as api:
        async with connect(api, answers=answers) as client:
            await client.run()
            page = (await client.request("agent/hooks/page", {}))["markdown"]
            [warning] = [each["message"] for each in client.all("window/showMessage")]
    assert warning.startswith(f"Fairlead: The hooks in a file are left out. {workspace}/.github/hooks/a.json")
    assert ": it cannot be read: " in warning
    assert "hello" in json.dumps(api.requests[0].body)
    assert "## Problems\n\n- `.github/hooks/a.json`" in page
    assert problem in page.partition(": it cannot be read: ")[2]


def _contents(folder: Path) -> dict[str, bytes]:
    """All files, apart from what Fairlead saves."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".local" not in path.parts)
    return {str(path): path.read_bytes() for path in files}


async def _proposed(client: Client, workspace: Path) -> dict[str, str]:
    edits: Json = client.last("agent/edits") or {"files": []}
    texts: dict[str, str] = {}
    for file in edits["files"]:
        uri = f"fairlead-proposed://{edits['sessionId']}{file['uri'].removeprefix('file://')}"
        text = (await client.request("workspace/textDocumentContent", {"uri": uri}))["text"]
        texts[file["uri"].removeprefix(f"{workspace.as_uri()}/")] = text
    return texts
