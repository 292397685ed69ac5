"""The names of tools and of their inputs in Claude Code, which hooks are written for. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlead.json_values import is_object

CALL = "call_tool"
"""Our tool that calls a tool of a server, where these are too many for the model."""
SEPARATOR = "__"
"""In the name of a tool of a tool server."""


@dataclass(frozen=True, slots=True)
class OtherNames:
    """What a tool and the fields of its input are called."""

    tool: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """By our names; others have the same name."""


TOOLS: Mapping[str, OtherNames] = {
    "bash": OtherNames("Bash", {"background": "run_in_background"}),
    "bash_output": OtherNames("BashOutput", {"handle": "bash_id"}),
    "bash_kill": OtherNames("KillShell", {"handle": "shell_id"}),
    "edit_file": OtherNames("Edit", {"path": "file_path", "old_text": "old_string", "new_text": "new_string"}),
    "write_file": OtherNames("Write", {"path": "file_path"}),
    "read_file": OtherNames("Read", {"path": "file_path"}),
    "search": OtherNames("Grep", {"context": "-C", "ignoreCase": "-i"}),
    "list_files": OtherNames("Glob", {"glob": "pattern"}),
    "fetch": OtherNames("WebFetch"),
    "todo": OtherNames("TodoWrite", {"items": "todos"}),
    "ask_user": OtherNames("AskUserQuestion"),
    "skill": OtherNames("Skill"),
    "explore": OtherNames("Task", {"title": "description", "task": "prompt"}),
    "delegate": OtherNames("Task", {"title": "description", "task": "prompt", "agent": "subagent_type"}),
    "web_search": OtherNames("WebSearch"),
}
"""By our names. Tools that Claude Code does not have keep their names."""


def tool_name(name: str, given: Mapping[str, Any]) -> str:
    """What a hook calls the tool of a call. One that calls another tool counts as that.

    Args:
        given: the input of the call.
    """
    inner = given.get("name")
    if name == CALL and isinstance(inner, str):
        name = inner
    if SEPARATOR in name:
        return f"mcp{SEPARATOR}{name}"
    return TOOLS[name].tool if name in TOOLS else name


def tool_input(name: str, given: Mapping[str, Any], path_of: Callable[[str], str]) -> dict[str, Any]:
    """The input of a call, as a hook gets it.

    Args:
        path_of: returns the absolute path of a file that a call names.
    """
    inner = given.get("input")
    if name == CALL and is_object(inner):
        return dict(inner)
    names = _names(name)
    values = {
        key: path_of(value) if key == "path" and isinstance(value, str) else value for key, value in given.items()
    }
    return {names.get(key, key): value for key, value in values.items()}


def call_fields(call_id: str, name: str, given: Mapping[str, Any], path_of: Callable[[str], str]) -> dict[str, Any]:
    """What a hook gets about a call. The arguments are those of `tool_input`."""
    return {
        "tool_name": tool_name(name, given),
        "tool_input": tool_input(name, given, path_of),
        "tool_use_id": call_id,
    }


def own_input(name: str, given: Mapping[str, Any], updated: Any) -> dict[str, Any]:
    """The input of a call with what a hook has changed in it. It is as unchecked as the model's.

    Args:
        given: the input before.
        updated: the hook's `updatedInput`.
    """
    if not is_object(updated):
        return dict(given)
    inner = given.get("input")
    if name == CALL and is_object(inner):
        return {**given, "input": {**inner, **updated}}
    names = {other: own for own, other in _names(name).items()}
    return {**given, **{names.get(key, key): value for key, value in updated.items()}}


def _names(name: str) -> Mapping[str, str]:
    return TOOLS[name].fields if name in TOOLS else {}
