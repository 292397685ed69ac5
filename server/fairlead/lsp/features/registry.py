"""Registers a handler for each method name. Importing this module imports the whole server."""

from typing import Any

from lsprotocol import types

from fairlead.lsp.connection import ClientConnection
from fairlead.lsp.features import (
    checks,
    documents,
    hooks,
    hosted_agents,
    lifecycle,
    models,
    plan,
    review,
    runs,
    sessions,
    skills,
    terminals,
    tool_servers,
)
from fairlead.lsp.features.commands import COMMANDS
from fairlead.lsp.features.handlers import Handler, NotificationHandler, command, notification, request
from fairlead.lsp.initialization import Initialization
from fairlead.lsp.server import AgentServer
from fairlead.wire import protocol as wire

REQUESTS: dict[str, Handler] = {
    wire.CREATE_SESSION: sessions.create_session,
    wire.LIST_SESSIONS: sessions.list_sessions,
    wire.OPEN_SESSION: sessions.open_session,
    wire.REWIND_SESSION: sessions.rewind_session,
    wire.RENAME_SESSION: sessions.rename_session,
    wire.DELETE_SESSION: sessions.delete_session,
    wire.FORMER_FOLDERS: sessions.former_folders,
    wire.ADOPT_SESSIONS: sessions.adopt_sessions,
    wire.RUN_TASK: runs.run_task,
    wire.CALL_TOOL: runs.call_tool,
    wire.RUN_IN_TERMINAL: terminals.run_in_terminal,
    wire.TERMINAL_INPUT: terminals.type_in,
    wire.STEER: runs.steer,
    wire.STOP_COMMAND: runs.stop_command,
    wire.CANCEL: runs.cancel,
    wire.ACCEPT: review.accept,
    wire.REJECT: review.reject,
    wire.AMEND: review.amend,
    wire.UNDO: review.undo_review,
    wire.REDO: review.redo_review,
    wire.CHANGES_IN_FILE: review.changes_in_file,
    wire.RUN_CHECKS: checks.run,
    wire.MINIMIZE_CHECKS: checks.minimize,
    wire.NEEDED_CHANGES: checks.needed,
    wire.CHECK_TOGETHER: checks.together,
    wire.RANK_RACE: checks.rank_race,
    wire.SUGGEST_CHECKS: checks.suggest,
    wire.PLAN_EDIT: plan.edit_plan,
    wire.PLAN_HISTORY: plan.plan_history,
    wire.RECORD: plan.record,
    wire.COSTS: sessions.costs,
    wire.COMMAND_RULES: plan.command_rules,
    wire.TRY_RULE: plan.try_rule,
    wire.CREDENTIALS: lifecycle.credentials,
    wire.LOG_IN: tool_servers.log_in,
    wire.SECRETS: tool_servers.secrets,
    wire.WARM: lifecycle.warm,
    wire.MODELS: models.list_models,
    wire.CHOOSE_MODEL: models.choose_model,
    wire.TRY_MODEL: models.try_model,
    wire.HOSTED_AGENTS: hosted_agents.list_agents,
    wire.INSTALL_AGENT: hosted_agents.install_agent,
    wire.SET_AGENT_OPTION: hosted_agents.set_option,
    wire.SKILLS_LIST: skills.list_skills,
    wire.SKILLS_PAGE: skills.page,
    wire.SUBAGENT_PAGE: runs.subagent_page_of,
    wire.STOP_SUBAGENT: runs.stop_subagent,
    wire.HOOKS_PAGE: hooks.page,
    wire.TOOL_SERVERS_LIST: tool_servers.list_servers,
    wire.TOOL_SERVERS_RESTART: tool_servers.restart,
    wire.TOOL_SERVERS_OFFERS: tool_servers.list_offers,
    wire.SERVER_PROMPT: tool_servers.get_prompt,
}

STANDARD_REQUESTS: dict[str, Handler] = {
    types.WORKSPACE_TEXT_DOCUMENT_CONTENT: documents.text_content,
    types.TEXT_DOCUMENT_CODE_LENS: documents.code_lenses,
}

NOTIFICATIONS: dict[str, NotificationHandler] = {
    types.SHUTDOWN: lifecycle.shutdown,  # a request, but pygls answers it
    wire.TRUST: lifecycle.trust,
    wire.TERMINAL_SIZE: terminals.resize,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lifecycle.change_folders,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: lifecycle.configuration,
    types.TEXT_DOCUMENT_DID_OPEN: documents.did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: documents.did_change,
    types.TEXT_DOCUMENT_DID_CLOSE: documents.did_close,
    types.TEXT_DOCUMENT_DID_SAVE: documents.did_save,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: runs.cancel_progress,
}


def start_server(connection: ClientConnection, initialization: Initialization) -> AgentServer:
    """Creates the server for a client whose `initialize` is answered, and registers all handlers."""
    server = AgentServer(connection, initialization)
    requests = {**REQUESTS, **STANDARD_REQUESTS}
    if not initialization.capabilities.diffs:
        requests[types.TEXT_DOCUMENT_CODE_ACTION] = documents.offer_actions
    for method, handler in requests.items():
        connection.feature(method)(request(server, handler))
    for name, handler in COMMANDS.items():
        connection.command(name)(command(server, handler))
    for method, on_notification in NOTIFICATIONS.items():
        connection.feature(method)(notification(server, on_notification))

    async def on_initialized(params: Any) -> None:
        await lifecycle.initialized(server, params)

    connection.feature(types.INITIALIZED)(on_initialized)
    return server
