"""What the tools that other agents' files name are called in Fairlead. Pure."""

import re
from collections.abc import Iterable, Mapping

_READ = ("read_file", "code")
_SEARCH = ("search", "list_files", "code")
_EDIT = ("edit_file", "write_file", "delete_file", "rename_file", "rename_symbol", "apply_fix")
_RUN = ("bash", "bash_output", "bash_kill")
_WEB = ("fetch", "web_search")
_AGENTS = ("explore", "delegate")

OWN = frozenset((*_READ, *_SEARCH, *_EDIT, *_RUN, *_WEB, *_AGENTS, "todo", "ask_user", "skill"))

OTHERS: Mapping[str, tuple[str, ...]] = {
    # Claude Code
    "read": _READ,
    "notebookread": _READ,
    "ls": ("list_files",),
    "glob": ("list_files",),
    "grep": ("search",),
    "edit": _EDIT,
    "multiedit": ("edit_file", "apply_fix", "rename_symbol"),
    "notebookedit": ("edit_file",),
    "write": ("write_file",),
    "bash": _RUN,
    "bashoutput": ("bash_output",),
    "killshell": ("bash_kill",),
    "webfetch": ("fetch",),
    "websearch": ("web_search",),
    "task": _AGENTS,
    "agent": _AGENTS,
    "todowrite": ("todo",),
    "todoread": ("todo",),
    "skill": ("skill",),
    "askuserquestion": ("ask_user",),
    # VS Code: its sets of tools, and the tools in them
    "search": _SEARCH,
    "codebase": _SEARCH,
    "textsearch": ("search",),
    "filesearch": ("list_files",),
    "listdirectory": ("list_files",),
    "usages": ("code",),
    "problems": ("code",),
    "changes": _READ,
    "readfile": _READ,
    "editfiles": _EDIT,
    "createfile": ("write_file",),
    "createdirectory": ("write_file",),
    "new": ("write_file",),
    "execute": _RUN,
    "runcommands": _RUN,
    "runinterminal": _RUN,
    "runtasks": _RUN,
    "runtests": _RUN,
    "testfailure": _RUN,
    "getterminaloutput": ("bash_output",),
    "terminallastcommand": ("bash_output",),
    "web": _WEB,
    "fetch": ("fetch",),
    "runsubagent": _AGENTS,
    "todo": ("todo",),
    "todos": ("todo",),
    "askquestions": ("ask_user",),
}
"""By their names in lower case."""

_SETS = ("read", "search", "edit", "execute", "web", "agent", "todo", "vscode")
_ARGUMENTS = re.compile(r"\(.*\)$", re.DOTALL)
_SERVER = re.compile(r"mcp__([^_](?:.*?[^_])?)(?:__(.+))?")


def tools_named(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Patterns of Fairlead's tools for the names that a file gives, and the names that stand for none.

    `Bash(git:*)` stands for `Bash`: which commands may run, the user's settings say.
    """
    patterns: dict[str, None] = {}
    unknown: list[str] = []
    for name in names:
        found = _patterns(_ARGUMENTS.sub("", name))
        patterns.update(dict.fromkeys(found))
        if not found:
            unknown.append(name)
    return tuple(patterns), tuple(unknown)


def _patterns(name: str) -> tuple[str, ...]:
    if name == "*":
        return ("*",)
    known = OTHERS.get(name.lower())
    if known is None and name in OWN:
        known = (name,)
    if known is not None:
        return known
    if server := _SERVER.fullmatch(name):
        return (f"{server[1]}__{server[2] or '*'}",)
    first, slash, rest = name.partition("/")
    if slash and first.lower() in _SETS:
        return _patterns(rest) or OTHERS.get(first.lower(), ())
    return (f"{first}__{rest}",) if slash and first and rest else ()
