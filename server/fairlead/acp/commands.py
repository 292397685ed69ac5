"""The commands that the user writes as a prompt: `/review`, `/accept`, `/undo` and so on."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acp import schema

from fairlead.acp.review import summarize_outcomes
from fairlead.acp.texts import inline, note, plain
from fairlead.acp.updates import state_words
from fairlead.display import count_of, escape_invisible, shorten
from fairlead.edits.selection import Change
from fairlead.hosted_agents.updates import Choice
from fairlead.plan import PlanItem, PlanOp
from fairlead.plan.verification import Support
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.review import decisions, undo
from fairlead.session.review.checks import run_checks
from fairlead.session.review.target import HunkOutcome, Target
from fairlead.session.rewind import rewind
from fairlead.skills.find import FoundSkills
from fairlead.workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from fairlead.acp.served_session import ServedSession

NOTHING = "There is nothing to review: no change is undecided."
NO_PLAN = "There is no plan yet."
NOT_PROPOSED = "Nothing is proposed for {path}. Write /review to see what is."
_PROMPT = re.compile(r"\s*/(\S+)(?:\s+(.*))?\s*", re.DOTALL)
Run = Callable[["ServedSession", str], Awaitable[schema.StopReason | None]]


@dataclass(frozen=True)
class Command:
    """A command for the user."""

    name: str
    description: str
    hint: str
    run: Run
    """Executes it, given what follows its name. Returns how the turn ends; None: as usual.

    Raises WrongRequest or RequestRefused with a text for the user.
    """


@dataclass(frozen=True)
class Given:
    """A command with what the user wrote after it."""

    command: Command
    rest: str

    async def run(self, served: "ServedSession") -> schema.StopReason | None:
        """Executes it. Returns how the turn ends; None: as usual. What is wrong is said in the conversation."""
        try:
            return await self.command.run(served, self.rest)
        except (WrongRequest, RequestRefused) as error:
            return served.say(note(str(error)))


def find(prompt: str) -> Given | None:
    """The command that a prompt consists of; None: it is for the model, or uses a skill."""
    found = _PROMPT.fullmatch(prompt)
    command = COMMANDS.get(found[1]) if found else None
    return Given(command, (found[2] or "").strip()) if found and command else None


def available(skills: FoundSkills, hosted: Iterable[Choice]) -> list[schema.AvailableCommand]:
    """The commands, then those of the hosted agent, then the skills of the user and the workspace.

    Of several with one name, the first counts, as it does in a prompt.
    """
    found = [
        *(_available(each.name, each.description, each.hint) for each in COMMANDS.values()),
        *(_available(each.id, each.about or each.name, "") for each in hosted),
        *(
            _available(each.name, each.description or "A skill.", each.hint)
            for each in skills.skills
            if each.is_for_user
        ),
    ]
    by_name = dict[str, schema.AvailableCommand]()
    for each in found:
        by_name.setdefault(each.name, each)
    return [*by_name.values()]


def _available(name: str, description: str, hint: str) -> schema.AvailableCommand:
    about = schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=plain(hint))) if hint else None
    return schema.AvailableCommand(name=plain(name), description=plain(description), input=about)


async def _review(served: "ServedSession", rest: str) -> None:
    if rest not in ("", "hunks"):
        raise WrongRequest("Write /review for a question about each file, or /review hunks for one about each change.")
    if not len(served.session.files.changes):
        raise RequestRefused(NOTHING)
    await served.reviewer.of_everything(by_hunk=rest == "hunks")


async def _accept(served: "ServedSession", rest: str) -> None:
    target = _target(served, rest)
    _say_outcomes(served, await served.app.accept(served.session, target, served.session.files.version))


async def _reject(served: "ServedSession", rest: str) -> None:
    target = _target(served, rest)
    _say_outcomes(served, await decisions.reject(served.session.review, target, served.session.files.version))


def _target(served: "ServedSession", rest: str) -> Target:
    """All proposals, those of a file, or those of a step."""
    session = served.session
    if not len(session.files.changes):
        raise RequestRefused(NOTHING)
    if rest in ("", "all"):
        return Target()
    if found := re.fullmatch(r"step\s+#?(\d+)", rest):
        return Target(item_id=_step(served, found[1]))
    try:
        path = session.roots.resolve(rest.removeprefix("@"))
    except WorkspaceError as error:
        raise WrongRequest(str(error)) from error
    if session.files.proposal(path) is None and session.files.changes.for_target(str(path)) is None:
        raise RequestRefused(NOT_PROPOSED.format(path=inline(rest)))
    return Target((Change(str(path)),))


async def _undo(served: "ServedSession", _: str) -> None:
    _say_outcomes(served, await undo.undo(served.session.review), "Undone")


async def _redo(served: "ServedSession", _: str) -> None:
    _say_outcomes(served, await undo.redo(served.session.review), "Redone")


def _say_outcomes(served: "ServedSession", outcomes: Sequence[HunkOutcome], done: str = "Accepted") -> None:
    served.session.flush()
    served.say(note(summarize_outcomes(outcomes, done)[1]))


async def _plan(served: "ServedSession", rest: str) -> schema.StopReason | None:
    session = served.session
    items, words = session.plan.snapshot().items, rest.split()
    if not items:
        raise RequestRefused(NO_PLAN)
    if not words:
        supports = session.plan_state().supports
        lines = [
            f"{number}. {escape_invisible(item.content)} ({_state(item, supports[item.id])})"
            for number, item in enumerate(items, 1)
        ]
        return served.say("\n".join(lines))
    if words == ["start"]:
        return await served.continue_run("plan")
    verb, numbers = words[0], words[1:]
    operation = PLAN_VERBS.get(verb)
    if operation is None or not numbers:
        verbs = ", ".join(f"/plan {each} 3" for each in PLAN_VERBS)
        raise WrongRequest(f"Write /plan to see the plan, /plan start to start the work, or {verbs}.")
    ops = [operation(_step(served, number)) for number in numbers]
    session.edit_plan(ops, session.plan.snapshot().revision)
    session.flush()
    steps = count_of(len(session.plan.snapshot().items), "step")
    return served.say(note(f"The plan has {steps} now. The agent reads about it with its next round."))


PLAN_VERBS: dict[str, Callable[[str], PlanOp]] = {
    "drop": lambda item_id: PlanOp("remove", item_id),
    "hold": lambda item_id: PlanOp("update", item_id, held=True),
    "resume": lambda item_id: PlanOp("update", item_id, held=False),
}


def _state(item: PlanItem, support: Support) -> str:
    status = [] if item.held else [item.status.replace("_", " ")]
    return ", ".join([*status, *state_words(item, support)])


def _step(served: "ServedSession", number: str) -> str:
    """The id of the step at this place in the plan, counted from 1."""
    items = served.session.plan.snapshot().items
    by_place = {str(place): item.id for place, item in enumerate(items, 1)}
    item_id = by_place.get(number.removeprefix("#"))
    if item_id is None:
        raise WrongRequest(f"There is no step {shorten(number)}. The plan has {count_of(len(items), 'step')}.")
    return item_id


async def _check(served: "ServedSession", rest: str) -> None:
    results = await run_checks(served.session.user_checks, rest or None, None)
    served.session.flush()
    served.say(note("\n".join(escape_invisible(result.message) for result in results)))


async def _rewind(served: "ServedSession", rest: str) -> None:
    numbered = {str(number): each for number, each in enumerate(served.session.review.history.checkpoints, 1)}
    if not numbered:
        raise RequestRefused("There is no prompt to go back to.")
    if rest not in numbered:
        lines = [f"{number}. {shorten(each.prompt)}" for number, each in numbered.items()]
        lead = "Write /rewind with the number of the prompt before which you want to continue:"
        return served.say("\n".join([lead, "", *lines]))
    rewound = await rewind(served.session, numbered[rest].id)
    served.session.publish()
    served.session.flush()
    kept = [f"{inline(each.path.name)}: {each.message}" for each in rewound.not_undone]
    lead = f"The session is as it was before this prompt: {shorten(rewound.prompt, 200)}"
    return served.say(
        note("\n".join([lead, "The messages above stay visible, but the agent no longer knows them.", *kept]))
    )


async def _continue(served: "ServedSession", _: str) -> schema.StopReason | None:
    return await served.continue_run("paused")


COMMANDS = {
    each.name: each
    for each in (
        Command("review", "Decide on the proposed changes, by file or by change", "hunks", _review),
        Command("accept", "Write proposed changes to your files", "nothing for all, a file, or step 3", _accept),
        Command("reject", "Discard proposed changes", "nothing for all, a file, or step 3", _reject),
        Command("undo", "Undo the last accept or reject", "", _undo),
        Command("redo", "Redo what was undone last", "", _redo),
        Command("plan", "Show or change the plan", "start, drop 3, hold 3, resume 3", _plan),
        Command("check", "Run the checks on the proposed changes", "a command, or nothing for all checks", _check),
        Command("rewind", "Go back to before a prompt, with your files", "the number of the prompt", _rewind),
        Command("continue", "Continue a run that did not finish", "", _continue),
    )
}
