"""What supports a completed step (docs/plan.md P16), without any I/O."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.plan import PlanItem, PlanOp, TodoManager
from fairlead.plan.evidence import CommandRun, Evidence, Record, ServerCall, Verification
from fairlead.plan.file_states import FileStates
from fairlead.plan.verification import Support, support_by_item

TESTS = Verification("pytest", targets=(".",), by_path=True)
ONE_FOLDER = Verification("pytest", targets=("tests/unit",), by_path=True)
LINT = Verification("ruff check", targets=(".",), by_path=True)


def run(*verified: Verification, code: int | None = 0, state: int | None = 0, stopped: bool = False) -> CommandRun:
    return CommandRun("call", "command", code, 1.0, stopped, verified, state if verified else None)


def call(*, is_outside: bool) -> ServerCall:
    return ServerCall("call", "server", "tool", "answered", 1.0, is_outside)


def support(*runs: CommandRun, changed: Sequence[str] = (), item: PlanItem | None = None, **evidence: Any) -> Support:
    """The support of a step with this evidence, if the files in `changed` have changed since every state.

    The step is completed unless `item` is given.
    """
    record = Record({"1": Evidence(commands=runs, **evidence)})
    return support_by_item([item or PlanItem("1", "A", "completed")], record, lambda *_: changed)["1"]


@pytest.mark.parametrize(
    ("status", "found"),
    [
        pytest.param("noEvidence", support(), id="nothing"),
        pytest.param("noEvidence", support(seconds=9, tokens=5), id="time and tokens are no evidence"),
        pytest.param("looked", support(looks=1), id="reads"),
        pytest.param("looked", support(calls=(call(is_outside=False),)), id="a call of a tool server"),
        pytest.param("unverified", support(calls=(call(is_outside=True),)), id="a call with effects outside"),
        pytest.param("unverified", support(files=("/a",), looks=1), id="a change"),
        pytest.param("unverified", support(run()), id="a command that verifies nothing"),
        pytest.param("unverified", support(run(code=1)), id="one that fails"),
        pytest.param("verified", support(run(TESTS), files=("/a",)), id="a pass"),
        pytest.param("failed", support(run(TESTS, code=1)), id="a failure"),
        pytest.param("failed", support(run(TESTS, code=None)), id="a kill"),
        pytest.param("failed", support(run(TESTS, code=1), run()), id="an ls after a failure"),
        pytest.param("failed", support(run(TESTS, code=1), run(LINT, state=1)), id="another verification"),
        pytest.param("failed", support(run(TESTS, code=1), run(ONE_FOLDER, state=1)), id="a part of it"),
        pytest.param("verified", support(run(TESTS, code=1), run(TESTS, state=1)), id="the same one"),
        pytest.param("verified", support(run(ONE_FOLDER, code=1), run(TESTS, state=1)), id="a superset"),
        pytest.param("failed", support(run(TESTS), run(TESTS, code=1, state=1)), id="a failure after a pass"),
        pytest.param("failed", support(run(TESTS), run(TESTS, code=1)), id="a failure after a pass on the same files"),
        pytest.param("verified", support(run(TESTS, code=1), run(TESTS)), id="a pass after a failure on them"),
        pytest.param("failed", support(run(TESTS, LINT, code=1), run(LINT, state=1)), id="one of two that failed"),
        pytest.param("unverified", support(run(TESTS, code=None, stopped=True)), id="stopped: no result"),
        pytest.param("stale", support(run(TESTS), changed=["/a"]), id="a change afterwards"),
        pytest.param(
            "unverified",
            support(replace(run(TESTS), leftovers=(".env",)), changed=["/a"]),
            id="a change after a pass that needed ignored files",
        ),
        pytest.param(
            "marked",
            support(run(TESTS, code=1), item=PlanItem("1", "A", "completed", marked=True)),
            id="marked by the user",
        ),
        pytest.param("none", support(run(TESTS), item=PlanItem("1", "A", "in_progress")), id="not completed"),
    ],
)
def test_p16_the_status_of_a_step_follows_from_its_evidence(status: str, found: Support) -> None:
    assert found.status == status


def test_p16_a_later_step_verifies_an_earlier_one_that_has_no_command_of_its_own() -> None:
    """A later step's command verifies an earlier step if it ran after that step's last change.

    A failure counts only for the step that ran it.
    """
    items = [PlanItem(name, name, "completed") for name in ("before", "after", "tests")]
    changes = {"before": Evidence(files=("/a",), changed_at=0), "after": Evidence(files=("/b",), changed_at=1)}

    def statuses(**change: Any) -> list[str]:
        record = Record({**changes, "tests": Evidence(commands=(run(TESTS, **change),))})
        return [found.status for found in support_by_item(items, record, lambda *_: ()).values()]

    assert statuses() == ["verified", "unverified", "verified"]
    assert statuses(state=1) == ["verified", "verified", "verified"]
    assert statuses(code=1) == ["unverified", "unverified", "failed"]


def test_p16_a_failure_is_cleared_by_a_later_step() -> None:
    items = [PlanItem(name, name, "completed") for name in ("1", "2")]
    of = [Evidence(commands=(run(TESTS, code=1),)), Evidence(commands=(run(TESTS, state=1),))]
    found = support_by_item(items, Record(dict(zip("12", of, strict=True))), lambda *_: ())
    assert [each.status for each in found.values()] == ["verified", "verified"]


def test_p16_a_step_stays_marked_by_the_user_until_the_model_reopens_it() -> None:
    manager = TodoManager()
    manager.update([{"content": "A"}])

    def status() -> str:
        return support_by_item(manager.snapshot().items, Record(), lambda *_: ())["1"].status

    manager.edit([PlanOp("update", "1", status="completed")], manager.snapshot().revision)
    assert status() == "marked"
    manager.update([{"id": "1", "content": "A"}])
    manager.update([{"id": "1", "content": "A", "status": "completed"}])
    assert status() == "noEvidence"


@pytest.mark.parametrize(
    ("covers", "one", "other"),
    [
        (True, TESTS, TESTS),
        (True, TESTS, ONE_FOLDER),
        (False, ONE_FOLDER, TESTS),
        (True, ONE_FOLDER, Verification("pytest", targets=("tests/unit/a.py::test_a",), by_path=True)),
        (False, ONE_FOLDER, Verification("pytest", targets=("tests/units",), by_path=True)),
        (False, TESTS, LINT),
        (True, TESTS, Verification("pytest", targets=(".",), narrowing=("-k=a",), by_path=True)),
        (False, Verification("pytest", targets=(".",), narrowing=("-k=a",), by_path=True), TESTS),
        (False, Verification("mypy", targets=(".",)), Verification("mypy", targets=(".",), options=("--strict",))),
        (False, Verification("npm test"), Verification("npm test", "client")),
        (True, Verification("cargo test"), Verification("cargo test", targets=("name",))),
        (False, Verification("cargo test", targets=("name",)), Verification("cargo test")),
    ],
)
def test_p16_a_verification_covers_itself_and_its_parts(covers: bool, one: Verification, other: Verification) -> None:
    """A verification covers those by the same program, in the same folder and with the same options, whose targets are
    among its own or below them. The other one may be narrowed further, for example by `-k`."""
    assert one.covers(other) is covers


FILES = st.sampled_from(["/a", "/b", "/c"])
CONTENTS = st.dictionaries(FILES, st.sampled_from("xyz"))


@given(st.lists(CONTENTS, min_size=1, max_size=8), CONTENTS)
def test_p16_changed_files_differ_from_the_state(history: list[dict[str, str]], now: dict[str, str]) -> None:
    """For any history of contents: exactly the files whose content differs now from what it was in that state."""
    states, contents, recorded = FileStates(), dict[str, str](), list[dict[str, str]]()
    for changed in [*history, now]:
        contents = {**contents, **changed}
        for path, content in contents.items():
            states = states.with_first(path, content)
        states = states.with_state(contents)
        recorded.append(contents)
    for number, then in enumerate(recorded):
        # a file that became known later had its first content before
        expected = {path for path, content in contents.items() if then.get(path, states.first[path]) != content}
        assert set(states.changed_since(number, contents)) == expected


@pytest.mark.parametrize(
    ("broken", "found"),
    [("/a.py", ("unverified", 2)), ("/b.py", ("verified", 0))],
    ids=["a file that it changed", "another file"],
)
def test_p20_a_step_with_new_errors_is_not_verified(broken: str, found: tuple[str, int]) -> None:
    """A step with new errors is not verified even if its commands passed. Only errors in files it changed count."""
    record = Record({"1": Evidence(files=("/a.py",), commands=(run(TESTS),))})
    items = [PlanItem("1", "A", "completed")]
    support = support_by_item(items, record, lambda *_: (), lambda path: 2 if path == broken else 0)["1"]
    assert (support.status, support.new_errors) == found
