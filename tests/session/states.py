"""Changes to a session's state, for the tests of journals."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from hypothesis import strategies as st

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.edits.undo import Decision, FileDecision, RemovedFolder
from fairlead.messages.parts import Image, Note, Result
from fairlead.plan import PlanError, TodoManager
from fairlead.plan.evidence import CommandRun, ServerCall
from fairlead.plan.ops import PlanOp
from fairlead.session.evidence.recorder import Inferred
from fairlead.session.rewind import conversation_rewound, rewound
from fairlead.session.run.feedback import PendingFeedback
from fairlead.session.state import CallState, SessionState, checkpoint_of
from fairlead.workspace.rejections import Rejected
from support.messages import assistant, user

ROOT = "/ws"
ID = "0123456789ab"

Change = Callable[[SessionState], SessionState]

# difficult for JSON and files: line endings, astral characters, a lone surrogate, empty text
texts = st.text(st.sampled_from("ab\n\r\u2028é\U0001f600\udc80"), max_size=12)
paths = st.sampled_from(["/ws/a.txt", "/ws/b.txt", "/ws/é.txt"])
places = st.sampled_from(["1", "2", "before"])


def proposing(path: str, text: str) -> Change:
    return lambda state: with_changes(state, cs.propose(state.changes, path, "one\ntwo\n", text, Author("1", "call-1")))


def with_changes(state: SessionState, changes: Changeset) -> SessionState:
    return replace(state, changes=changes, edits_version=state.edits_version + 1)


def dropping(path: str) -> Change:
    return lambda state: with_changes(state, state.changes.without(path))


def emptying(folder: str) -> Change:
    return lambda state: with_changes(state, state.changes.with_empty_folders(frozenset({folder})))


def deciding(path: str) -> Change:
    def decide(state: SessionState) -> SessionState:
        before = state.changes.get(path)
        if before is None:
            return state
        after = cs.rejected(before, None)
        file = FileDecision(before, after, False, folders=("/ws/a",), removed_folders=(RemovedFolder("/ws/b", 0o755),))
        kind, item_id = ("undo", "1") if len(state.decisions.done) % 2 else ("reject", None)
        decision = Decision(kind, f"Reject {path}", (file,), "no", item_id)
        state = replace(state, rejected=(*state.rejected, Rejected(path, b"\0\xff", "no")))
        return with_changes(
            replace(state, decisions=state.decisions.with_decision(decision)), state.changes.without(path)
        )

    return decide


def undoing(state: SessionState) -> SessionState:
    if state.decisions.done:
        return replace(state, decisions=state.decisions.undo([0]))
    return replace(state, decisions=state.decisions.redo([0])) if state.decisions.undone else state


def saying(text: str) -> Change:
    def say(state: SessionState) -> SessionState:
        answers = state.messages and state.messages[-1].role == "user"
        return replace(state, messages=(*state.messages, assistant(text) if answers else user(text)))

    return say


def rewriting(index: int, text: str) -> Change:
    """Replaces one message of the history, as compaction does."""

    def rewrite(state: SessionState) -> SessionState:
        at = index % len(state.messages) if state.messages else 0
        return replace(state, messages=(*state.messages[:at], user(text), *state.messages[at + 1 :]))

    return rewrite


def planning(contents: list[str]) -> Change:
    def plan(state: SessionState) -> SessionState:
        manager = TodoManager()
        manager.restore(state.plan, state.versions, state.user_edits)
        with suppress(PlanError):  # a rewrite may not leave out the user's item
            manager.update([{"id": str(n), "content": f"step {text!r}"} for n, text in enumerate(contents)], "why")
        if manager.snapshot().items:
            manager.edit([PlanOp("update", "0", content="by hand")], manager.snapshot().revision)
        return replace(state, plan=manager.snapshot(), versions=manager.history, user_edits=manager.user_edits)

    return plan


def recording(place: str, text: str) -> Change:
    run = CommandRun("call-1", text, 0, 0.5)
    call = ServerCall("call-2", text, text, "failed", 0.5, True, text)
    return lambda state: replace(
        state,
        record=state.record.with_file(place, text).with_command(place, run).with_call(place, call),
        inferred=(*state.inferred, Inferred("look", text)),
    )


def prompting(text: str) -> Change:
    """The user sends a prompt, which adds a checkpoint of the state."""

    def prompt(state: SessionState) -> SessionState:
        checkpoint_id = max((each.id for each in state.checkpoints), default=0) + 1
        checkpoint = checkpoint_of(state, checkpoint_id, text)
        return replace(state, checkpoints=(*state.checkpoints, checkpoint))

    return prompt


def rewinding(index: int, is_whole: bool) -> Change:
    def rewind(state: SessionState) -> SessionState:
        if not state.checkpoints:
            return state
        checkpoint = state.checkpoints[index % len(state.checkpoints)]
        return (rewound if is_whole else conversation_rewound)(state, checkpoint)

    return rewind


def calling(call_id: str, text: str) -> Change:
    return lambda state: replace(state, calls={**state.calls, call_id: CallState(1.5, text)})


def ending(call_id: str, text: str) -> Change:
    return lambda state: replace(state, calls={**state.calls, call_id: CallState(1.5, result=text)})


def returning_results(call_id: str, text: str, begins: bool) -> Change:
    """Appends the results of a round as a message. If `begins`, a new round begins and the calls are discarded."""

    def return_results(state: SessionState) -> SessionState:
        call = state.calls.get(call_id)
        output = text if call is None or call.result is None else call.result
        result = Result(call_id, output, is_error=True, images=(Image("image/png", text),))
        message = user(result, Note("context", text, (("Active file", text),)))
        return replace(state, messages=(*state.messages, message), calls={} if begins else state.calls)

    return return_results


def verifying(path: str, digest: str) -> Change:
    """A verification of one file."""

    def change(state: SessionState) -> SessionState:
        files = state.file_states.with_first(path, digest).with_state({path: f"{digest}!"})
        return replace(state, file_states=files, workspace_files=digest, unseen_files=(path,))

    return change


def correcting(path: str, digest: str, until: int) -> Change:
    """It turns out that a file had another content in some of the states."""

    def change(state: SessionState) -> SessionState:
        files = state.file_states.with_first(path, "now")
        return replace(state, file_states=files.with_earlier(path, digest, min(until, len(files.changes))))

    return change


changes = st.one_of(
    st.builds(verifying, paths, texts),
    st.builds(correcting, paths, texts, st.integers(0, 3)),
    st.builds(proposing, paths, texts),
    st.builds(dropping, paths),
    st.builds(emptying, paths),
    st.builds(deciding, paths),
    st.just(undoing),
    st.builds(saying, texts),
    st.builds(rewriting, st.integers(0, 9), texts),
    st.builds(planning, st.lists(texts, max_size=3)),
    st.builds(recording, places, texts),
    st.builds(prompting, texts),
    st.builds(rewinding, st.integers(0, 9), st.booleans()),
    st.builds(calling, places, texts),
    st.builds(ending, places, texts),
    st.builds(returning_results, places, texts, st.booleans()),
    st.just(lambda state: replace(state, calls={})),
    texts.map(lambda text: lambda state: replace(state, title=text, events_sent=state.events_sent + 1)),
    texts.map(lambda text: lambda state: replace(state, models=(*state.models, text))),
    texts.map(
        lambda text: (
            lambda state: replace(state, pending_feedback=PendingFeedback((text,), (text,), ((text, text),), (text,)))
        )
    ),
    st.sampled_from(["agent", "plan", "ask"]).map(lambda mode: lambda state: replace(state, mode=mode)),
    st.booleans().map(lambda awaits: lambda state: replace(state, plan=replace(state.plan, awaits_approval=awaits))),
    st.sampled_from(["idle", "running", "paused"]).map(
        lambda phase: lambda state: replace(state, phase=phase, updated=state.updated + 1)
    ),
)


def states(made: list[Change]) -> list[SessionState]:
    found = [SessionState(title="A task")]
    for change in made:
        found.append(change(found[-1]))
    return found


def same(first: SessionState, second: SessionState) -> bool:
    return replace(first, at=0.0) == replace(second, at=0.0)
