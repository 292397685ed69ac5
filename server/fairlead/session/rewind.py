"""Rewinds a session to its state before an earlier prompt, or creates a new session with that state."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from fairlead.edits.undo import DecisionLog
from fairlead.plan.evidence import BEFORE, UNPLANNED, Record
from fairlead.plan.history import PlanVersion, summarize_changes
from fairlead.plan.items import PlanningState
from fairlead.session.checkpoints import Checkpoint, without_undone
from fairlead.session.conversation import Entry, before_prompt, calls_in
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.review.target import HunkOutcome
from fairlead.session.review.undo import undo_later
from fairlead.session.run.feedback import PendingFeedback
from fairlead.session.run.prompt import title_of
from fairlead.session.session import Session
from fairlead.session.sessions import Sessions
from fairlead.session.state import SessionState
from fairlead.session.subagent import Subagent
from fairlead.tools.commands import finish_uncancelled

CONVERSATION_REWOUND = "rewound the conversation to this point; the plan, proposals and files stayed as they are"


@dataclass(frozen=True, slots=True)
class Rewound:
    """The result of a rewind."""

    session: Session
    """The rewound session, or the new one."""
    prompt: str
    """The prompt before which its conversation now ends."""
    not_undone: tuple[HunkOutcome, ...] = ()
    """The files in which a later decision could not be undone, and why. Only `rewind` undoes decisions."""


async def rewind(session: Session, checkpoint_id: int) -> Rewound:
    """Restores conversation, plan, record and proposals, and undoes later decisions where that is possible.

    Also stops the background commands. Waits for a stopped run and a current decision first. A cancellation after that
    takes effect only at the end.

    Raises:
        WrongRequest: there is no such checkpoint.
        RequestRefused: the session is running, or is being rewound already.
    """
    async with _exclusively(session):
        checkpoint = _checkpoint(session, checkpoint_id)  # only now, because decisions change checkpoints
        outcomes = await finish_uncancelled(_undo_and_restore(session, checkpoint))
    return Rewound(session, checkpoint.prompt, tuple(each for each in outcomes if each.outcome == "failed"))


async def _undo_and_restore(session: Session, checkpoint: Checkpoint) -> list[HunkOutcome]:
    session.cancel()  # its background commands belong to the later conversation
    outcomes = await undo_later(session.review, checkpoint.decisions)
    await session.adopt(rewound(session.snapshot(), checkpoint))
    return outcomes


async def rewind_conversation(session: Session, checkpoint_id: int) -> Rewound:
    """Restores the conversation only, and adds a note for the model that nothing else changed.

    Raises:
        As `rewind`.
    """
    async with _exclusively(session):
        checkpoint = _checkpoint(session, checkpoint_id)
        await session.adopt(conversation_rewound(session.snapshot(), checkpoint))
    return Rewound(session, checkpoint.prompt)


async def fork(sessions: Sessions, session: Session, checkpoint_id: int) -> Rewound:
    """Creates a session with the conversation, plan, record and proposals from before a prompt.

    The given session, which may be running, and the user's files do not change. The new session cannot undo the given
    session's decisions.

    Raises:
        WrongRequest: there is no such checkpoint.
        RequestRefused: as `Sessions.create`.
    """
    checkpoint = _checkpoint(session, checkpoint_id)
    state = rewound(session.snapshot(), checkpoint)
    created = sessions.create(f"{session.title} (fork)" if checkpoint.messages else "")
    await created.adopt(forked(state))
    return Rewound(created, checkpoint.prompt)


def forked(state: SessionState) -> SessionState:
    """The state of a session, for a new session that continues from there."""
    # none of the original's decisions can be undone there
    checkpoints = tuple(replace(each, decisions=0) for each in state.checkpoints)
    hosted = replace(state.hosted, sessions={})  # the sessions of agents go on in the original
    # the earlier requests are counted in the original
    return replace(state, decisions=DecisionLog(), checkpoints=checkpoints, spent={}, hosted=hosted)


def _checkpoint(session: Session, checkpoint_id: int) -> Checkpoint:
    found = next((each for each in session.review.history.checkpoints if each.id == checkpoint_id), None)
    if found is None:
        raise WrongRequest(f"This session cannot be rewound to the message {checkpoint_id}. Open the session again.")
    return found


@asynccontextmanager
async def _exclusively(session: Session) -> AsyncGenerator[None]:
    """Excludes runs and decisions of a session while the block lasts.

    Raises:
        RequestRefused: the session is running, or is being rewound already.
    """
    if session.is_rewinding:
        raise RequestRefused("This session is being rewound. Try again in a moment.")
    session.is_rewinding = True
    try:
        await session.runs.wait_for_end()
        async with session.review.lock:
            yield
    finally:
        session.is_rewinding = False


def rewound(state: SessionState, checkpoint: Checkpoint) -> SessionState:
    """The state as it was at a checkpoint, but with higher versions.

    The history of the plan stays, and so do the tokens and the cost on record.
    """
    checkpoint = without_undone(checkpoint, state.decisions)
    old, conversation = state.plan, before_prompt(state.conversation, checkpoint.id)
    plan = PlanningState(checkpoint.items, 0, old.version + 1, old.revision, checkpoint.awaits_approval)
    versions = state.versions
    if checkpoint.items != old.items:
        plan = replace(plan, revision=old.revision + 1)
        reason = f"Rewound to before “{title_of(checkpoint.prompt)}”"
        summary = summarize_changes(old.items, checkpoint.items)
        versions = (*versions, PlanVersion(plan.revision, "user", summary, reason, checkpoint.items, rewound=True))
    return replace(
        state,
        phase="idle",
        ended=None,
        mode=checkpoint.mode,
        agent=checkpoint.agent,
        hosted=replace(state.hosted, sessions={}),  # what the agents know there no longer holds
        plan=plan,
        versions=versions,
        user_edits=checkpoint.user_edits,
        record=_with_costs(checkpoint.record, state.record, UNPLANNED if checkpoint.items else BEFORE),
        inferred=checkpoint.inferred,
        changes=replace(checkpoint.changes, order=state.changes.order),
        edits_version=state.edits_version + 1,
        decisions=DecisionLog(state.decisions.done[: checkpoint.decisions]),
        pending_feedback=checkpoint.pending_feedback,
        messages=checkpoint.messages,
        conversation=conversation,
        subagents=_in(conversation, state.subagents),
        checkpoints=tuple(without_undone(each, state.decisions) for each in _earlier(state, checkpoint)),
    )


def conversation_rewound(state: SessionState, checkpoint: Checkpoint) -> SessionState:
    """The state with the conversation as it was at a checkpoint, and a note for the model that nothing else changed.

    The feedback that the model had not read at the checkpoint, or has not read now, is pending.
    """
    earlier, later = checkpoint.pending_feedback, state.pending_feedback
    conversation = before_prompt(state.conversation, checkpoint.id)
    return replace(
        state,
        phase="idle",
        ended=None,
        mode=checkpoint.mode,
        agent=checkpoint.agent,
        hosted=replace(state.hosted, sessions={}),  # what the agents know there no longer holds
        pending_feedback=PendingFeedback(
            said=(*earlier.said, *later.said),
            plan_edits=(*earlier.plan_edits, CONVERSATION_REWOUND, *later.plan_edits),
            accepted=later.accepted,
            items=(*earlier.decisions, *later.items),
            rejected=earlier.rejected or later.rejected,
            conflicts=earlier.conflicts,
        ),
        messages=checkpoint.messages,
        conversation=conversation,
        subagents=_in(conversation, state.subagents),
        checkpoints=_earlier(state, checkpoint),
    )


def _in(conversation: tuple[Entry, ...], subagents: Iterable[Subagent]) -> tuple[Subagent, ...]:
    """The subagents that calls in a conversation started."""
    calls = calls_in(conversation)
    return tuple(each for each in subagents if each.work.call_id in calls)


def _earlier(state: SessionState, checkpoint: Checkpoint) -> tuple[Checkpoint, ...]:
    return tuple(each for each in state.checkpoints if each.id < checkpoint.id)


def _with_costs(record: Record, later: Record, step: str) -> Record:
    """The record, with the additional tokens and cost of `later` added to a step.

    A rewind discards work, but not its cost.
    """
    evidence, all_evidence = record.by_step.values(), later.by_step.values()
    tokens = sum(each.tokens for each in all_evidence) - sum(each.tokens for each in evidence)
    before, after = ([each.cost for each in part] for part in (evidence, all_evidence))
    unknown = None in before or None in after
    cost = None if unknown else sum(filter(None, after)) - sum(filter(None, before))
    return record.with_cost(step, tokens, cost) if tokens else record
