"""The checks that the user runs."""

from fairlead.edits.selection import Change
from fairlead.lsp.convert_checks import check_result, needed_changes, smallest_set
from fairlead.lsp.convert_together import race_result, together_result
from fairlead.lsp.features.handlers import named_session, session_target
from fairlead.lsp.server import AgentServer
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.review.checks import run_checks
from fairlead.session.review.needed import find_needed_changes
from fairlead.session.review.smallest import find_smallest_set
from fairlead.session.review.target import resolve_target
from fairlead.session.review.weakened import named
from fairlead.session.session import Session
from fairlead.session.together.race import judge
from fairlead.session.together.standings import rank
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.params import MinimizeChecksParams, NoParams, RaceParams, RunChecksParams
from fairlead.workspace.suggested_checks import suggested_checks


async def run(server: AgentServer, params: RunChecksParams) -> wire.CheckResults:
    """`agent/checks/run`: runs checks with all proposed changes, with some of them, or with none."""
    session = await named_session(server, params)
    command = params.get("check", "").strip() or None
    results = await run_checks(session.user_checks, command, _chosen(session, params))
    return {"results": [check_result(result) for result in results]}


async def minimize(server: AgentServer, params: MinimizeChecksParams) -> states.SmallestSetWire:
    """`agent/checks/minimize`: searches for the smallest set of changes with which checks pass."""
    session = await named_session(server, params)
    command = params.get("check", "").strip() or None
    return smallest_set(await find_smallest_set(session.user_checks, command))


async def needed(server: AgentServer, params: MinimizeChecksParams) -> states.NeededChangesWire:
    """`agent/checks/needed`: runs checks without each of the changes in turn."""
    session = await named_session(server, params)
    command = params.get("check", "").strip() or None
    return needed_changes(await find_needed_changes(session.user_checks, command))


async def together(server: AgentServer, _: NoParams) -> states.TogetherResultWire:
    """`agent/checks/together`: runs the checks of all sessions on their proposals together."""
    return together_result(await server.app.together.check())


async def rank_race(server: AgentServer, params: RaceParams) -> wire.RaceResult:
    """`agent/race/rank`: finds out what the ended runs of these sessions are worth, and ranks them."""
    ids = list(dict.fromkeys(params["sessionIds"]))
    if len(ids) < 2:
        raise WrongRequest("params.sessionIds must name two or more sessions")
    sessions = [await server.sessions.get(session_id) for session_id in ids]
    return race_result(rank(await judge(sessions)))


async def suggest(server: AgentServer, _: NoParams) -> wire.SuggestedChecks:
    """`agent/checks/suggest`: the commands that the workspace suggests as checks."""
    found = await suggested_checks(server.context.workspace())
    return {"suggestions": [{"command": each.command, "source": each.source} for each in found]}


def _chosen(session: Session, params: RunChecksParams) -> list[Change] | None:
    """The undecided changes that the checks see; None: all, empty: none.

    Raises:
        WrongRequest: the params are wrong.
        RequestRefused: the target names something that is not proposed.
    """
    base, target = params.get("base", False), params.get("target")
    if base and target is not None:
        raise WrongRequest("params.base and params.target cannot be combined")
    if target is None:
        return [] if base else None
    selections, missing = resolve_target(
        session.files, named(session_target(session, target), session.weakened()), None
    )
    if missing:
        raise RequestRefused(missing[0].message)
    chosen: list[Change] = []
    for selected in selections:
        ids = [None] if selected.hunk_ids is None else selected.hunk_ids
        chosen += [Change(str(selected.path), hunk_id) for hunk_id in ids]
    if not chosen:
        raise RequestRefused("Nothing is proposed there.")
    return chosen
