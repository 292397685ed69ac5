"""Ignored files that commands left in the sandbox prove nothing (docs/plan.md P16), in a real server and sandbox."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import bash, edit
from support.client import Client, Json
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]

TEST = """import unittest

import app


class Test(unittest.TestCase):
    def test(self):
        self.assertEqual({}, 2)
"""
FILES = {
    ".gitignore": "sitecustomize.py\n*.env\nbuild/\n",
    "app.py": "def answer():\n    return 1\n",
    "test_app.py": TEST.format("app.answer()"),
    "test_env.py": TEST.format("int(open('answer.env').read())"),
    "test_package.py": TEST.format("int(open('node_modules/answer/index.js').read())"),
}
RUN = "PYTHONPATH=. python3 -B -m unittest test_app"
FAKE = "printf 'def answer():\\n    return 2\\n' > /tmp/app.py"
COMPILE = f"{FAKE}; python3 -c \"import py_compile; py_compile.compile('/tmp/app.py', {{}}, 'app.py', True{{}})\""
UNCHECKED = COMPILE.format(
    "'__pycache__/app.' + __import__('sys').implementation.cache_tag + '.pyc'",
    ", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH",
)

ATTACKS = {
    "sitecustomize.py": "printf 'import app\\napp.answer = lambda: 2\\n' > sitecustomize.py",
    "an unchecked .pyc": UNCHECKED,
    "a folder with pyvenv.cfg": (
        "mkdir -p env/bin; touch env/pyvenv.cfg; printf '#!/bin/sh\\n' > env/bin/python3; chmod +x env/bin/python3"
    ),
    "a settings file": "echo 2 > answer.env",
    "an installed package": "mkdir -p node_modules/answer; echo 2 > node_modules/answer/index.js",
}
COMMANDS = {
    "a folder with pyvenv.cfg": "env/bin/python3 -m unittest test_app",
    "a settings file": "python3 -m unittest test_env",
    "an installed package": "python3 -m unittest test_package",
}
LEFT = {
    "sitecustomize.py": ["sitecustomize.py"],
    "an unchecked .pyc": ["__pycache__"],
    "a folder with pyvenv.cfg": ["env"],
    "a settings file": ["answer.env"],
    "an installed package": ["node_modules"],
}
HARMLESS = {
    "nothing": "true",
    "checked .pyc files": "python3 -m compileall -q .",
    "a build": "mkdir build; echo one > build/report.txt; cp test_app.py build/",
}


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


def todo(status: str) -> Json:
    return {"todo": {"items": [{"content": "Edit", "status": status}]}}


async def work(workspace: Path, replay: Replay, command: str, run: str, value: int) -> tuple[Json, int]:
    """Runs a command and a test after an edit, and accepts the edit. Returns the step, and the test's exit code then.

    The last run of the test is on the disk, as in a fresh clone. The check of what was accepted agrees with it.
    """
    for name, text in FILES.items():
        (workspace / name).write_text(text)
    turns: list[Any] = [
        {"calls": [todo("in_progress"), edit("app.py", "return 1", f"return {value}"), bash(command), bash(run)]},
        {"calls": [todo("completed")]},
        {"text": "Done."},
    ]
    async with Client(workspace, settings=replay(*turns)) as client:
        result = await client.run()
        assert [call["exitCode"] for call in client.last("agent/plan")["items"][0]["evidence"]["commands"]] == [0, 0]
        await client.request("agent/edits/accept", {"sessionId": result["sessionId"], "target": {"all": True}})
        item = client.last("agent/plan")["items"][0]
        assert ("This time it did not pass" in client.text("tool_output")) == bool(item["leftovers"])
        record = await client.request("agent/record", {"sessionId": result["sessionId"]})
        assert record["record"]["steps"][0]["verification"] == item["verification"]
        accepted = {"sessionId": result["sessionId"], "check": run, "base": True}
        [checked] = (await client.request("agent/checks/run", accepted))["results"]
    code = subprocess.run(["bash", "-c", run], cwd=workspace, check=False, capture_output=True).returncode
    assert checked["passed"] == (code == 0)
    return item, code


@pytest.mark.parametrize("attack", ATTACKS)
async def test_p16_an_ignored_file_of_the_session_proves_nothing(workspace: Path, replay: Replay, attack: str) -> None:
    """docs/faults.md 131: the change is wrong, and the test passes only because of an ignored file that a command left.
    The step is unverified and names the file. The same test fails in a fresh clone.
    """
    item, code = await work(workspace, replay, ATTACKS[attack], COMMANDS.get(attack, RUN), 3)
    assert item["verification"] == "unverified"
    names = [uri.removeprefix(f"{workspace.as_uri()}/").partition("/")[0] for uri in item["leftovers"]]
    assert names == LEFT[attack]
    assert code != 0


@pytest.mark.parametrize("command", HARMLESS)
async def test_p16_build_outputs_do_not_matter(workspace: Path, replay: Replay, command: str) -> None:
    """A correct change is verified, whatever builds and caches commands have left. The test passes in a fresh clone."""
    item, code = await work(workspace, replay, HARMLESS[command], RUN, 2)
    assert (item["verification"], item["leftovers"], code) == ("verified", [], 0)
