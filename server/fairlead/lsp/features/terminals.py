"""Programs that the user starts in the sandbox, in a terminal of the client."""

import base64
import binascii
from functools import partial
from pathlib import Path

from fairlead.lsp.features.handlers import named_session
from fairlead.lsp.server import AgentServer
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.run.called_tool import CalledTool
from fairlead.shell.layer import ShownFolder
from fairlead.shell.network import Network
from fairlead.shell.terminal import Terminal
from fairlead.tools.terminal_program import NAME, TerminalProgram
from fairlead.wire import protocol as wire
from fairlead.wire.params import RunInTerminalParams, TerminalInputParams, TerminalSizeParams
from fairlead.workspace.paths import real_path

CALLER = "You"
PROMPT = "Run in a terminal: {command}"


async def run_in_terminal(server: AgentServer, params: RunInTerminalParams) -> wire.TerminalResult:
    """`agent/terminal/run`: runs a program in the sandbox and answers when it has ended."""
    session, argv = await named_session(server, params), params["argv"]
    if not argv or not argv[0] or any("\0" in each for each in argv):
        raise WrongRequest("params.argv must name a program, without a NUL character")
    if session.running or session.id in server.terminals:
        raise RequestRefused("This session is running. Stop it first, or start a new session.")
    size = params["terminal"]
    show = partial(server.editor.show_output, session.id)
    terminal = Terminal(size["kind"], size["columns"], size["rows"], show)
    folders = [ShownFolder(real_path(Path(each["path"])), each["isWritable"]) for each in params.get("folders", ())]
    network, variables = Network(params.get("network", False)), params.get("variables", {})
    program = TerminalProgram(argv, terminal, network, variables, folders)
    called = CalledTool(
        NAME, {"command": program.command}, CALLER, PROMPT.format(command=program.command), program=program
    )

    def begin() -> None:
        server.run_progress.begin_run(session.id, None, can_create=False)

    server.terminals[session.id] = terminal
    try:
        await session.call_tool(called, begin)
    finally:
        del server.terminals[session.id]
        terminal.close()
    if program.problem:
        raise RequestRefused(program.problem)
    return {"exitCode": program.exit_code, "notes": list(program.notes)}


async def type_in(server: AgentServer, params: TerminalInputParams) -> None:
    """`agent/terminal/input`: gives a program what the user typed, and answers when it can take more."""
    try:
        data = base64.b64decode(params["data"], validate=True)
    except binascii.Error as error:
        raise WrongRequest("params.data is not Base64") from error
    terminal = server.terminals.get(params["sessionId"])
    if terminal is not None:  # otherwise it has just ended
        await terminal.type(data)


def resize(server: AgentServer, params: TerminalSizeParams) -> None:
    """`agent/terminal/size`: the user's terminal has another size."""
    terminal = server.terminals.get(params["sessionId"])
    if terminal is not None:
        terminal.resize(params["columns"], params["rows"])
