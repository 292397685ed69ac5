"""P22 over the wire: changes that weaken tests have reasons, and an accept of everything leaves them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import edit
from support.client import Client, Json

Replay = Callable[..., Json]

TEST = """\
from cart import total


def test_total():
    assert total([1, 2]) == 3


def test_none():
    assert not total([])
"""
REASON = "test_total checks less: total([1, 2]) instead of total([1, 2]) == 3."
WEAKER = edit("test_cart.py", "total([1, 2]) == 3", "total([1, 2])")
OTHER = edit("test_cart.py", "def test_none():", "def test_no_price():")
CODE = edit("cart.py", "sum(prices)", "sum(prices) * 2")
PLAN = {"todo": {"items": [{"content": "Double it", "status": "in_progress"}]}}
DONE = {"todo": {"items": [{"content": "Double it", "status": "completed"}]}}


@pytest.fixture
def cart(workspace: Path) -> Path:
    """A workspace with a function and its tests."""
    (workspace / "cart.py").write_text("def total(prices):\n    return sum(prices)\n")
    (workspace / "test_cart.py").write_text(TEST)
    return workspace


def sentences(words: list[Json]) -> list[str]:
    return [each["prefix"] + each["template"].format(*each["arguments"]) for each in words]


def weakens(edits: Json) -> dict[str, list[str]]:
    """The reasons of the changes that have any, by the first lines of the changes; by the file's name for a file."""
    found = {hunk["snippet"]: hunk["weakens"] for file in edits["files"] for hunk in file["hunks"]}
    found |= {Path(file["uri"]).name: file["weakens"] for file in edits["files"]}
    return {key: sentences(words) for key, words in found.items() if words}


async def edits(client: Client, session: str) -> Json:
    params = {"command": "fairlead.server.edits", "arguments": [{"sessionId": session}]}
    return await client.request("workspace/executeCommand", params)


async def accept(client: Client, session: str, target: Json) -> dict[str, str]:
    """Accepts a target. Returns the message of each outcome that is not `applied`, by the name of the file."""
    result = await client.request("agent/edits/accept", {"sessionId": session, "target": target})
    return {Path(each["uri"]).name: each["message"] for each in result["outcomes"] if each["outcome"] != "applied"}


@pytest.mark.parametrize("target", [{"all": True}, {"item": "1"}, "all files", "its file"])
async def test_fault_321_an_accept_of_several_changes_leaves_a_weakened_test(
    cart: Path, replay: Replay, target: Json
) -> None:
    """docs/faults.md 321: the rest is accepted, also in the same file. The outcome says why, and the change stays."""
    async with Client(cart, settings=replay({"calls": [PLAN, CODE, WEAKER, OTHER]}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        assert weakens(await edits(client, session)) == {"assert total([1, 2])": [REASON]}
        if isinstance(target, str):  # a list of changes, even of one, such as what checks prove
            names = ["cart.py", "test_cart.py"]
            if target == "its file":
                await accept(client, session, {"uri": (cart / names.pop(0)).as_uri()})
            target = {"changes": [{"uri": (cart / name).as_uri(), "hunk": None} for name in names]}
        left = await accept(client, session, target)
        assert left == {"test_cart.py": f"It weakens a test, so look at it and accept it alone. {REASON}"}
        assert "prices) * 2" in (cart / "cart.py").read_text()
        assert (cart / "test_cart.py").read_text() == TEST.replace("test_none", "test_no_price")
        assert weakens(await edits(client, session)) == {"assert total([1, 2])": [REASON]}


@pytest.mark.parametrize("how", ["hunk", "file", "weakened tests"])
async def test_a_weakened_test_is_accepted_when_it_is_named(cart: Path, replay: Replay, how: str) -> None:
    """P22: the user has looked at it if they accept the change, its file or all weakened tests."""
    async with Client(cart, settings=replay({"calls": [CODE, WEAKER]}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        uri = (cart / "test_cart.py").as_uri()
        [hunk] = next(file for file in (await edits(client, session))["files"] if file["uri"] == uri)["hunks"]
        named: dict[str, Json] = {
            "hunk": {"uri": uri, "hunk": hunk["id"]},
            "file": {"uri": uri},
            "weakened tests": {"weakenedTests": True},
        }
        assert await accept(client, session, named[how]) == {}
        assert (cart / "test_cart.py").read_text() == TEST.replace(" == 3", "")
        assert "* 2" not in (cart / "cart.py").read_text()


async def test_all_weakened_tests_are_rejected_at_once(cart: Path, replay: Replay) -> None:
    """P22: the others stay proposed."""
    async with Client(cart, settings=replay({"calls": [CODE, WEAKER, OTHER]}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        await client.request("agent/edits/reject", {"sessionId": session, "target": {"weakenedTests": True}})
        left = await edits(client, session)
        assert [len(file["hunks"]) for file in left["files"]] == [1, 1]
        assert weakens(left) == {}


async def test_a_change_that_the_user_has_edited_is_one_that_they_have_looked_at(cart: Path, replay: Replay) -> None:
    """P22: it has no reasons anymore, and an accept of everything includes it. Undoing the edit brings them back."""
    async with Client(cart, settings=replay({"calls": [WEAKER]}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        text = TEST.replace("total([1, 2]) == 3", "total([1, 2]) > 2")
        params = {"sessionId": session, "uri": (cart / "test_cart.py").as_uri(), "text": text}
        await client.request("agent/edits/amend", params)
        assert weakens(await edits(client, session)) == {}
        await client.request("agent/edits/undo", {"sessionId": session})
        assert weakens(await edits(client, session)) == {"assert total([1, 2])": [REASON]}
        await client.request("agent/edits/redo", {"sessionId": session})
        assert await accept(client, session, {"all": True}) == {}
        assert (cart / "test_cart.py").read_text() == text


async def test_a_deleted_test_file_is_left_as_a_whole(cart: Path, replay: Replay) -> None:
    """P22: the file has the reasons. Undo and redo of an accept need no other look."""
    calls = [{"delete_file": {"path": "test_cart.py"}}]
    async with Client(cart, settings=replay({"calls": calls}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        found = ["2 tests are removed with this file."]
        assert weakens(await edits(client, session)) == {"test_cart.py": found}
        assert list(await accept(client, session, {"all": True})) == ["test_cart.py"]
        assert (cart / "test_cart.py").exists()
        assert await accept(client, session, {"uri": (cart / "test_cart.py").as_uri()}) == {}
        await client.request("agent/edits/undo", {"sessionId": session})
        assert (cart / "test_cart.py").read_text() == TEST
        await client.request("agent/edits/redo", {"sessionId": session})
        assert not (cart / "test_cart.py").exists()


async def test_the_model_reads_which_tests_its_step_weakens(cart: Path, replay: Replay) -> None:
    """P22: when it completes the step, so that it can repair them. A step that weakens none reads nothing."""
    when = "Changes of #1 weaken tests"
    settings = replay(
        {"calls": [PLAN, CODE, WEAKER]},
        {"calls": [DONE]},
        {"text": "It read the reason.", "when": f"- test_cart.py: {REASON}"},
    )
    async with Client(cart, settings=settings) as client:
        assert (await client.run())["message"] == "It read the reason.", when
    settings = replay({"calls": [PLAN, CODE]}, {"calls": [DONE]}, {"text": "read", "when": when}, {"text": "nothing"})
    async with Client(cart, settings=settings) as client:
        assert (await client.run())["message"] == "nothing"


async def test_the_lens_of_a_weakened_test_says_why(cart: Path, replay: Replay) -> None:
    """P22: in the user's file and in the proposed text, after the buttons."""
    able = {"workspace": {"codeLens": {"refreshSupport": True}}, "experimental": {"agent": {"diffs": True}}}
    settings = replay({"calls": [WEAKER]}, {"text": "."})
    answers: dict[str, Any] = {"workspace/codeLens/refresh": lambda _: None}
    async with Client(cart, settings=settings, capabilities=able, answers=answers) as client:
        session = (await client.run())["sessionId"]
        uri = (cart / "test_cart.py").as_uri()
        for shown in (uri, uri.replace("file://", f"fairlead-proposed://{session}")):
            found = await client.request("textDocument/codeLens", {"textDocument": {"uri": shown}})
            assert found[-1]["command"]["title"] == f"⚠ {REASON}"
            assert {lens["range"]["start"]["line"] for lens in found} == {4}


async def test_the_record_says_which_undecided_changes_weaken_tests(cart: Path, replay: Replay) -> None:
    """P22: docs/record.md, `Change`."""
    async with Client(cart, settings=replay({"calls": [CODE, WEAKER]}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        record = (await client.request("agent/record", {"sessionId": session}))["record"]
        assert {change["path"]: change["weakens"] for change in record["changes"]} == {
            "cart.py": [],
            "test_cart.py": [REASON],
        }
