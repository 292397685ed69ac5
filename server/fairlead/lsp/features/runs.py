"""Starts, steers and stops runs and their commands."""

from lsprotocol import types

from fairlead.lsp import convert_events
from fairlead.lsp.features.handlers import named_session
from fairlead.lsp.run_params import RunParams, read_run
from fairlead.lsp.server import AgentServer
from fairlead.session.errors import WrongRequest
from fairlead.session.report.subagent_page import subagent_page
from fairlead.session.run.called_tool import CalledTool
from fairlead.session.session import Session
from fairlead.wire import protocol as wire
from fairlead.wire.params import (
    CallToolParams,
    RunTaskParams,
    SessionParams,
    SteerParams,
    StopCommandParams,
    SubagentParams,
)


async def run_task(server: AgentServer, params: RunTaskParams) -> wire.RunResult:
    """`agent/runTask`: runs a task and answers when the run has ended."""
    run = read_run(params)
    session = await session_for_run(server, run)
    if params.get("needsPrice"):
        server.app.check_cost_limit(session.selection)
    return await execute_run(server, session, run)


async def session_for_run(server: AgentServer, run: RunParams) -> Session:
    """The session that the params name, else a new one.

    Raises:
        WrongRequest: there is no such session.
        RequestRefused: it cannot be loaded or created, or a run cannot start in it now.
    """
    if run.session_id is None:
        return server.sessions.create()
    session = await server.sessions.get(run.session_id)
    session.check_can_run(run.task.continues)
    return session


async def execute_run(server: AgentServer, session: Session, run: RunParams) -> wire.RunResult:
    """Runs a task with progress. Returns its result when it has ended.

    Raises:
        RequestRefused: as `Session.run`.
    """

    def begin() -> None:
        server.run_progress.begin_run(session.id, run.work_done_token, server.editor.capabilities.progress)

    outcome, record = await server.app.run(session, run.task, begin)
    return convert_events.run_result(session.id, outcome, record)


async def call_tool(server: AgentServer, params: CallToolParams) -> wire.CallToolResult:
    """`agent/tools/call`: calls a tool of the agent for another program, as a run without a model."""
    session = await named_session(server, params)
    called = CalledTool(params["name"], params["input"], params["caller"], params.get("prompt", ""))

    def begin() -> None:
        server.run_progress.begin_run(session.id, None, can_create=False)

    answer = await session.call_tool(called, begin)
    return {
        "toolCallId": answer.call_id,
        "text": answer.text,
        "isError": answer.is_error,
        "feedback": answer.feedback,
    }


async def steer(server: AgentServer, params: SteerParams) -> wire.SteerResult:
    """`agent/steer`: sends a message to a running session, or to one of its subagents."""
    session = await named_session(server, params)
    if call_id := params.get("toolCallId"):
        return {"queued": session.steer_subagent(call_id, params["text"])}
    return {"queued": session.steer(params["text"])}


async def subagent_page_of(server: AgentServer, params: SubagentParams) -> wire.PageResult:
    """`agent/subagents/page`: what the subagent of a call did."""
    session = await named_session(server, params)
    subagent = session.subagents.of_call(params["toolCallId"])
    if subagent is None:
        raise WrongRequest("No subagent was started by this call.")
    return {"markdown": subagent_page(subagent)}


async def stop_subagent(server: AgentServer, params: SubagentParams) -> None:
    """`agent/subagents/stop`: stops the subagent of a call. The run goes on."""
    (await named_session(server, params)).stop_subagent(params["toolCallId"])


async def cancel(server: AgentServer, params: SessionParams) -> None:
    """`agent/cancel`: stops a session's run and its background commands."""
    (await named_session(server, params)).cancel()


def cancel_progress(server: AgentServer, params: types.WorkDoneProgressCancelParams) -> None:
    """`window/workDoneProgress/cancel`: like `cancel`, for the session whose run reports progress with this token."""
    session_id = server.run_progress.session_of(params.token)
    for session in server.sessions:
        if session.id == session_id:
            session.cancel()


async def stop_command(server: AgentServer, params: StopCommandParams) -> None:
    """`agent/command/stop`: stops a background command or a check."""
    session = await named_session(server, params)
    await session.stop_command(params["handle"])
