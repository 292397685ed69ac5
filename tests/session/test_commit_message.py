"""docs/protocol.md, `RecordResult`: the commit message names what was accepted, what verified it, and the record."""

from dataclasses import replace

import pytest

from fairlead.edits.review_outcomes import ReviewStatus
from fairlead.session.record.commit_message import commit_message
from fairlead.session.record.document import Change, SessionRecord, Step, Verification, Work

DIGEST = f"sha256:{'0' * 64}"
TRAILER = f"Fairlead-Record: {DIGEST}\n"
NOTHING = Work((), (), 0, 0, 0, None)


def a_record(*decisions: ReviewStatus, title: str = "add the tests.\nAll of them") -> SessionRecord:
    """A record with a change for each decision, each of a different step."""
    contents = ("Write the parser", "Test it", "Describe it " + "at length " * 9)
    steps = [Step(str(n), contents[n], "completed", False, "", "verified", "", (), NOTHING) for n in range(3)]
    return SessionRecord(
        format=1,
        fairlead="",
        title=title,
        state="idle",
        updated_at="2026-11-22T20:15:00+00:00",
        prompts=(),
        models=(),
        seconds=0,
        tokens=0,
        cost_usd=None,
        plan=(),
        steps=tuple(steps),
        outside=(),
        changes=tuple(Change(f"{n}.py", None, str(n), decision, None) for n, decision in enumerate(decisions)),
        costs=(),
        verifications=(),
        files=(),
    )


def test_the_message_lists_accepted_steps_and_their_verification() -> None:
    passed = Verification("pytest  -q", 0, 1, "1", True, {}, ())
    others = (
        replace(passed, exit_code=1),
        replace(passed, command="old", differs={"0.py": None}),
        replace(passed, command="only here", leftovers=("sitecustomize.py",)),
    )
    record = replace(a_record("accepted", "rejected", "accepted"), verifications=(passed, *others))
    record = replace(record, models=("claude-sonnet-5-5", "claude-haiku-4-5"))
    assert commit_message(record, DIGEST) == (
        "Add the tests. All of them\n\n"
        "- Write the parser\n"
        "- Describe it at length at length at length at length at length at\n"
        "  length at length at length at length\n\n"
        "Verified by `pytest -q`, which fails without the change.\n\n"
        "Assisted-by: Fairlead:claude-sonnet-5-5\n"
        "Assisted-by: Fairlead:claude-haiku-4-5\n"
        f"{TRAILER}"
    )


@pytest.mark.parametrize("decision", ["review", "rejected", "undone"])
def test_without_accepted_changes_there_is_no_message(decision: ReviewStatus) -> None:
    assert commit_message(a_record(decision), DIGEST) == ""


def test_work_without_steps_and_a_long_title() -> None:
    record = replace(a_record("accepted", title="word " * 40), steps=())
    subject, _, rest = commit_message(record, DIGEST).partition("\n")
    assert subject.endswith("word…") and len(subject) <= 72 and rest == f"\n{TRAILER}"


def test_a_long_title_without_spaces() -> None:
    """A title in a writing system without spaces is cut between characters, so it does not disappear."""
    subject = commit_message(a_record("accepted", title="删除旧的表" * 20), DIGEST).partition("\n")[0]
    assert subject.startswith("删除旧的表") and subject.endswith("…") and len(subject) == 72
