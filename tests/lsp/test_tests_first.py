"""Whether the tests that a step adds can fail on the old code (docs/plan.md P23), in a real server and sandbox.

The tests are programs of a few lines, so that no test runner is needed.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from lsp.test_check_requests import item, run_checks
from lsp.test_checks import BEGIN, TICK, results, runs, todo
from lsp.test_verification import review
from support.calls import edit
from support.client import Client, Json
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]
TESTS = "python3 tests/test_twice.py"
CODE = "def twice(n):\n    return n\n"
FIXED = edit("calc.py", "return n\n", "return n + n\n")
IMPORT = "import sys\nsys.path.insert(0, '.')\nfrom calc import {0}\n"


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


def write_workspace(workspace: Path) -> None:
    (workspace / "calc.py").write_text(CODE)
    (workspace / "other.py").write_text("1\n")


def new_test(assertion: str, name: str = "twice") -> Json:
    return {"write_file": {"path": "tests/test_twice.py", "content": f"{IMPORT.format(name)}assert {assertion}\n"}}


def turns(*calls: Json, check: str = TESTS) -> list[Json]:
    return [{"calls": [todo(*BEGIN, check=check), *calls]}, {"calls": [TICK]}, {"text": "Done."}]


NEW_FUNCTION = edit("calc.py", "def twice", "def half(n):\n    return n / 2\n\n\ndef twice")
PROVES = " It fails with only your changes to tests, so it proves the others."
PASSES = " It passes with only your changes to tests, too, so they do not test the other changes."
READS_NONE = " It reads none of the files that you changed besides tests, so it does not test these changes."


@pytest.mark.parametrize(
    ("calls", "said", "verification", "found"),
    [
        pytest.param([FIXED, new_test("twice(3) == 6")], PROVES, "proved", [(0, False), (1, True)], id="can fail"),
        pytest.param([FIXED, new_test("twice(0) == 0")], PASSES, "verified", [(0, False), (0, True)], id="cannot"),
        pytest.param(
            [NEW_FUNCTION, new_test("half(4) == 2", "half")],
            PROVES,
            "proved",
            [(0, False), (1, True)],
            id="the function does not exist on the old code",
        ),
        pytest.param(
            [edit("other.py", "1", "2"), new_test("twice(0) == 0")],
            READS_NONE,
            "verified",
            [(0, False)],
            id="reads nothing that the step changes",
        ),
    ],
)
async def test_p23_new_tests_must_fail_on_the_old_code(
    workspace: Path,
    replay: Replay,
    calls: list[Json],
    said: str,
    verification: str,
    found: list[tuple[int, bool]],
) -> None:
    """The run on the files without any proposals is replaced: there, every new test fails, because it is missing."""
    write_workspace(workspace)
    async with Client(workspace, settings=replay(*turns(*calls))) as client:
        await client.run()
        assert results(client)[-1].endswith(said)
        assert item(client)["verification"] == verification
        assert item(client)["testsPassWithout"] == (said == PASSES)
        commands = item(client)["evidence"]["commands"]
        assert [(run["exitCode"], run["withTests"]) for run in commands] == found
        assert [run["withoutChanges"] for run in commands] == [with_tests for _, with_tests in found]


async def test_p23_stronger_tests_are_tried_again(workspace: Path, replay: Replay) -> None:
    """The model reads that its test does not test the change, and repairs the test. An accept changes nothing."""
    write_workspace(workspace)
    repaired = edit("tests/test_twice.py", "twice(0) == 0", "twice(3) == 6")
    again = [
        {"calls": [todo(("Edit", "in_progress"), ("Next", "pending")), repaired]},
        {"calls": [TICK]},
        {"text": "Done."},
    ]
    script = [*turns(FIXED, new_test("twice(0) == 0"))[:-1], *again]
    async with Client(workspace, settings=replay(*script)) as client:
        await client.run()
        assert results(client)[1].endswith(PASSES)
        assert results(client)[-1].endswith(PROVES)
        assert item(client)["verification"] == "proved"
        await review(client, "accept", target={"all": True})
        assert item(client)["verification"] == "proved"


async def test_p23_without_other_changes_there_is_nothing_to_prove_but_the_tests(
    workspace: Path, replay: Replay
) -> None:
    """Of tests alone, the check runs without any of them, as for other proposals (P17)."""
    write_workspace(workspace)
    (workspace / "tests").mkdir()
    (workspace / "tests" / "test_twice.py").write_text(f"{IMPORT.format('twice')}assert twice(3) == 6\n")
    async with Client(workspace, settings=replay(*turns(new_test("twice(3) == 3")))) as client:
        await client.run()
        assert item(client)["verification"] == "proved"
        assert runs(client) == [(TESTS, 0, False), (TESTS, 1, True)]
        assert item(client)["evidence"]["commands"][-1]["withTests"] is False


async def test_p23_the_users_run_without_the_changes_has_the_new_tests(workspace: Path, replay: Replay) -> None:
    """As long as nothing is accepted. After that, it shows what the accepted changes are worth, and proves nothing."""
    write_workspace(workspace)
    script = [turns(FIXED, new_test("twice(0) == 0"))[0], {"text": "Done."}]
    async with Client(workspace, settings=replay(*script)) as client:
        await client.run()
        await run_checks(client)
        [passed] = await run_checks(client, base=True)
        assert passed["message"].startswith(f"Without the changes, but with those to tests: `{TESTS}` passes")
        assert passed["proves"] is False
        await review(client, "accept", target={"uri": (workspace / "calc.py").as_uri()})
        [failed] = await run_checks(client, base=True)
        assert failed["message"] == f"1 of 2 changes accepted: `{TESTS}` fails without tests/test_twice.py."
        commands = item(client)["evidence"]["commands"]
        assert [(run["withoutChanges"], run["withTests"]) for run in commands][:2] == [(False, False), (True, True)]
