"""The dispatch table: all tools of a run (docs/plan.md L2)."""

from collections.abc import Sequence

from fairlead.agent.tool import Tool
from fairlead.code.queries import CodeQueries
from fairlead.gate.gate import Gate
from fairlead.plan import TodoManager
from fairlead.tools.ask_user import AskUser
from fairlead.tools.bash import Bash
from fairlead.tools.bash_kill import BashKill
from fairlead.tools.bash_output import BashOutput
from fairlead.tools.checks import Checks
from fairlead.tools.code import Code
from fairlead.tools.code_edits import ApplyFix, RenameSymbol
from fairlead.tools.commands import Commands
from fairlead.tools.delete_file import DeleteFile
from fairlead.tools.edit_file import EditFile
from fairlead.tools.fetch import Fetch
from fairlead.tools.given_paths import FIELDS, WithGivenPaths
from fairlead.tools.kept_results import KeptResults
from fairlead.tools.list_files import ListFiles
from fairlead.tools.problems import Problems
from fairlead.tools.read_file import ReadFile
from fairlead.tools.rename_file import RenameFile
from fairlead.tools.search import Search
from fairlead.tools.todo import Todo
from fairlead.tools.web_context import WebContext
from fairlead.tools.write_file import WriteFile
from fairlead.workspace.editor import DiagnosticsSource
from fairlead.workspace.files import Files

BRIEF = ("todo", "read_file", "edit_file", "write_file", "search", "bash")
"""The tools for a model with a small window. `bash` can also list, rename and delete files: proposals, as well."""


def tool_table(
    files: Files,
    plan: TodoManager,
    commands: Commands,
    checks: Checks,
    *,
    kept: KeptResults | None = None,
    web: WebContext | None = None,
    is_brief: bool = False,
) -> dict[str, Tool]:
    """The tools that every run has, by name.

    Their order matters: it is part of the cached prefix of every request. All others follow.

    Args:
        checks: runs the checks of the items that `todo` completes.
        kept: the results that were too long for the model.
        web: the web of the session.
        is_brief: whether only the tools are wanted that a model with a small window cannot do without.
    """
    gate = commands.gate
    tools: list[Tool] = [
        Todo(plan, checks.run),
        ReadFile(files, gate, kept or KeptResults()),
        EditFile(files, gate),
        WriteFile(files, gate),
        DeleteFile(files, gate),
        RenameFile(files, gate),
        Search(files),
        ListFiles(files),
        Bash(files, commands, is_brief=is_brief),
        AskUser(gate.editor, gate.session_id),
        BashOutput(commands.background),
        BashKill(commands.background),
        Fetch(web or WebContext(gate)),
    ]
    return _by_name([tool for tool in tools if not is_brief or tool.spec.name in BRIEF], files)


def code_tools(
    files: Files, gate: Gate, queries: CodeQueries, diagnostics: DiagnosticsSource | None = None
) -> dict[str, Tool]:
    """The tools that use answers about the code, by name; none if there are no answers.

    Args:
        diagnostics: the problems that the editor shows; None if the editor does not report them.
    """
    if not queries.can_answer:
        return {}
    tools: list[Tool] = [
        Code(files, gate, queries, Problems(files, queries, diagnostics)),
        RenameSymbol(files, gate, queries),
        ApplyFix(files, gate, queries),
    ]
    return _by_name(tools, files)


def _by_name(tools: Sequence[Tool], files: Files) -> dict[str, Tool]:
    return {tool.spec.name: _with_given_paths(tool, files) for tool in tools}


def _with_given_paths(tool: Tool, files: Files) -> Tool:
    has_paths = not tool.spec.input_schema["properties"].keys().isdisjoint(FIELDS)
    return WithGivenPaths(tool, files) if has_paths else tool
