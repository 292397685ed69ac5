"""Edits of the plan, the record of a session, and the Markdown pages."""

from fairlead.json_reader import to_json
from fairlead.lsp import convert
from fairlead.lsp.features.handlers import named_session
from fairlead.lsp.params import read_ops
from fairlead.lsp.server import AgentServer
from fairlead.plan.history import history_page
from fairlead.sentences import english
from fairlead.session.record.commit_message import commit_message
from fairlead.session.record.create import create_record
from fairlead.session.record.digest import record_digest
from fairlead.session.report.rules_page import rules_page
from fairlead.session.report.summary import record_page, short_record
from fairlead.shell.command_line.rules import BadRule, Rule, is_allowed
from fairlead.wire import protocol as wire
from fairlead.wire.params import NoParams, PlanEditParams, SessionParams, TryRuleParams


async def edit_plan(server: AgentServer, params: PlanEditParams) -> wire.PlanEditResult:
    """`agent/plan/edit`: applies the user's changes to the plan, all or none."""
    session = await named_session(server, params)
    session.edit_plan(read_ops(params["ops"]), params["revision"])
    return {"plan": convert.plan(session.id, session.plan_state())}


async def plan_history(server: AgentServer, params: SessionParams) -> wire.PageResult:
    """`agent/plan/history`: all versions of the plan as a page."""
    session = await named_session(server, params)
    return {"markdown": history_page(session.title, session.plan.history)}


async def record(server: AgentServer, params: SessionParams) -> wire.RecordResult:
    """`agent/record`: what the session did, as a page, as a commit message and as data."""
    session = await named_session(server, params)
    made = await create_record(session)
    state, supports = session.snapshot(), session.evidence.support_by_item
    page, summary = record_page(state, session.roots, supports), english(short_record(state, supports))
    made_json = to_json(made)
    message = commit_message(made, record_digest(made_json))
    return {"markdown": page, "summary": summary, "commitMessage": message, "record": made_json}


async def command_rules(server: AgentServer, _: NoParams) -> wire.PageResult:
    """`agent/command/rules`: a page that says where commands run, which run without asking, and which never run."""
    return {"markdown": await rules_page(server.context)}


async def try_rule(_: AgentServer, params: TryRuleParams) -> wire.TryRuleResult:
    """`agent/command/tryRule`: what an allow rule means, before the user saves it."""
    try:
        rule = Rule.parse(params["rule"])
    except BadRule as error:
        return {"problem": str(error), "matches": [], "misses": []}
    examples, allows = rule.examples(), is_allowed(params["command"], [rule], outside=params["mode"] == "workspace")
    problem = "" if allows else f"This rule does not allow: {params['command']}"
    return {"problem": problem, "matches": list(examples.matches), "misses": list(examples.misses)}
