"""The dispatch table: all tools of a run (docs/plan.md L2)."""

from collections.abc import Mapping

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
from fairlead.tools.given_paths import FIELDS, WithGivenPaths
from fairlead.tools.kept_results import KeptResults
from fairlead.tools.list_files import ListFiles
from fairlead.tools.problems import Problems
from fairlead.tools.read_file import ReadFile
from fairlead.tools.rename_file import RenameFile
from fairlead.tools.search import Search
from fairlead.tools.todo import Todo
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
    queries: CodeQueries | None = None,
    diagnostics: DiagnosticsSource | None = None,
    *,
    kept: KeptResults | None = None,
    is_brief: bool = False,
) -> dict[str, Tool]:
    """The tools of a run, by name. Their order matters: it is part of the cached prefix of every request.

    Args:
        checks: runs the checks of the items that `todo` completes.
        kept: the results that were too long for the model.
        queries: answers questions about the code. If it is None or cannot answer, the tools that use it are left out.
        diagnostics: the problems that the editor shows; None if the editor does not report them.
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
        *(_code_tools(files, gate, queries, diagnostics) if queries is not None and queries.can_answer else []),
    ]
    wanted = [tool for tool in tools if not is_brief or tool.spec.name in BRIEF]
    return {tool.spec.name: _with_given_paths(tool, files) for tool in wanted}


def with_explore(tools: Mapping[str, Tool], explore: Tool) -> dict[str, Tool]:
    """The tools with one that is always offered, and therefore comes before those for code."""
    found: dict[str, Tool] = {}
    for name, tool in tools.items():
        found[name] = tool
        if name == "bash_kill":
            found[explore.spec.name] = explore
    return found


def _with_given_paths(tool: Tool, files: Files) -> Tool:
    has_paths = not tool.spec.input_schema["properties"].keys().isdisjoint(FIELDS)
    return WithGivenPaths(tool, files) if has_paths else tool


def _code_tools(files: Files, gate: Gate, queries: CodeQueries, diagnostics: DiagnosticsSource | None) -> list[Tool]:
    return [
        Code(files, gate, queries, Problems(files, queries, diagnostics)),
        RenameSymbol(files, gate, queries),
        ApplyFix(files, gate, queries),
    ]
