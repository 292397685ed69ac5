"""An agent that a file describes: instructions, and the tools that it may use. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from fairlead.json_values import is_list
from fairlead.skills.front_matter import FrontMatter, read_front_matter
from fairlead.skills.skill import MAX_DESCRIPTION, command_name, first_line, problems_of_fields, without_body
from fairlead.skills.tool_names import tools_named
from fairlead.workspace.file_problem import FileProblem

ALWAYS = ("todo", "ask_user")
"""The tools that an agent has even if its file does not name them: they change nothing but the plan."""
MAX_CHECKS = 10

_Warn = Callable[[str, str], None]
"""Gets a field and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class AgentFile:
    """An agent as its file describes it. It can do less than Fairlead without it, and never more."""

    name: str
    description: str
    path: Path
    instructions: str
    tools: tuple[str, ...] | None = None
    """Patterns of Fairlead's names of tools, in which `*` is any text; None: all tools."""
    without: tuple[str, ...] = ()
    """Patterns of the tools that it must not use."""
    model: str = ""
    """As the file names it; empty: the session's."""
    checks: tuple[str, ...] = ()
    """Commands that must pass before a step counts as done."""
    is_for_model: bool = True
    """Whether the model may give it work."""
    is_for_user: bool = True
    is_from_workspace: bool = True
    warnings: tuple[FileProblem, ...] = ()
    """What is wrong with its file."""

    def may_use(self, tool: str) -> bool:
        """Whether it may use a tool, by Fairlead's name."""
        return (self.tools is None or tool in ALWAYS or _matches(tool, self.tools)) and not _matches(tool, self.without)


def read_agent(path: Path, text: str, *, is_from_workspace: bool) -> AgentFile | FileProblem:
    """The agent in a file, or why there is none.

    A file whose header cannot be read describes none: the header may have said what the agent must not do.

    Args:
        path: `NAME.md` or `NAME.agent.md`.
    """
    found = read_front_matter(text)
    warnings = problems_of_fields(path, found)
    if warnings or not found.body:
        return without_body(path, found)

    def warn(field: str, text: str) -> None:
        warnings.append(FileProblem(path, text, found.lines.get(field)))

    own = path.name.removesuffix(".md").removesuffix(".agent").removesuffix(".chatmode")
    name = command_name(found.text("name")) or command_name(own)
    if name is None:
        return FileProblem(path, "its name cannot be used", is_left_out=True)
    if found.text("name") and name != found.text("name"):
        warn("name", f"its name cannot be typed, so it is called {name}")
    description = found.text("description") or first_line(found.body)
    tools = _tools(found, "tools", warn, if_wrong=())
    without = _tools(found, "disallowedTools", warn, if_wrong=("*",))
    return AgentFile(
        name,
        description[:MAX_DESCRIPTION],
        path,
        found.body,
        tools,
        without or (),
        _model(found),
        _checks(found, warn),
        not found.flag("disable-model-invocation", not found.flag("infer", True)),
        found.flag("user-invocable", True),
        is_from_workspace,
        tuple(warnings),
    )


def _matches(tool: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in patterns)


def _tools(found: FrontMatter, field: str, warn: _Warn, *, if_wrong: tuple[str, ...]) -> tuple[str, ...] | None:
    """Patterns of the tools that a field names, as a list or with commas between them; None if there is no field.

    Args:
        if_wrong: those if the field is something else.
    """
    value = found.fields.get(field)
    if value is None:
        return None
    if not is_list(value) and not isinstance(value, str):
        warn(field, f"its {field} are not a list, so it has no tools")
        return if_wrong
    given = value.split(",") if isinstance(value, str) else list(map(str, value))
    patterns, unknown = tools_named(each.strip() for each in given if each.strip())
    if unknown:
        warn(field, f"its {field} name what Fairlead does not have: {', '.join(unknown)}")
    return patterns


def _model(found: FrontMatter) -> str:
    """The model that a file names; of several, the first."""
    value = found.fields.get("model")
    given = str(value[0]) if is_list(value) and value else found.text("model")
    return "" if given == "inherit" else given.strip()


def _checks(found: FrontMatter, warn: _Warn) -> tuple[str, ...]:
    value = found.fields.get("checks")
    given: Sequence[object] = value if is_list(value) else [value]
    checks = tuple(each.strip() for each in given if isinstance(each, str) and each.strip())
    if len(checks) > MAX_CHECKS:
        warn("checks", f"it has more than {MAX_CHECKS} checks, of which the first count")
    return checks[:MAX_CHECKS]
