"""The tools that Fairlead offers to other agents, and the calls of its own tools that they stand for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairlead.tools.read_file import SPEC as READ_FILE
from fairlead.tools.run_check import SPEC as RUN_CHECK
from fairlead.tools.todo import SPEC as TODO

INSTRUCTIONS = (
    "Fairlead proposes changes instead of writing them: the user reviews each one. To change a file, use propose_edit, "
    "not your own tools. Read it back with read_proposed: the files on disk do not have the proposals. For several "
    "steps, write the plan first, and attach a check to each step that can have one. After a call you may read what "
    "the user decided: act on it. At the end, tell the user to review the changes."
)
WRONG_EDIT = (
    "Give old_text and new_text to replace text, new_text alone for the whole content of a file, or delete: true to "
    "delete it."
)


class WrongCall(Exception):
    """The arguments do not fit together. The message is for the calling model."""


@dataclass(frozen=True)
class Call:
    """A call of a tool of Fairlead's agent."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class Offered:
    """A tool for other agents."""

    name: str
    title: str
    description: str
    schema: Mapping[str, Any]
    call: Callable[[Mapping[str, Any]], Call] | None
    """Returns the call that it stands for. Raises WrongCall. None: it only shows the proposals."""
    reads_only: bool = False


def _edit(given: Mapping[str, Any]) -> Call:
    old, new, path = given.get("old_text"), given.get("new_text"), {"path": given.get("path")}
    if given.get("delete") is True and old is None and new is None:
        return Call("delete_file", path)
    if given.get("delete") or new is None:
        raise WrongCall(WRONG_EDIT)
    if old is None:
        return Call("write_file", {**path, "content": new})
    return Call("edit_file", {**path, "old_text": old, "new_text": new})


OFFERED = (
    Offered(
        "propose_edit",
        "Propose an Edit",
        "Propose a change of a file. Nothing is written until the user accepts it. With old_text and new_text: "
        "replaces text that must occur exactly once. With new_text alone: the whole content. With delete: deletes "
        "the file.",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Relative to the workspace"},
                "old_text": {"type": "string", "description": "Copied from read_proposed, whitespace included"},
                "new_text": {"type": "string"},
                "delete": {"type": "boolean"},
            },
            "required": ["path"],
        },
        _edit,
    ),
    Offered(
        "read_proposed",
        "Read a Proposed File",
        "Read a file with the proposed changes in it. Plain text without line numbers, at most 2000 lines at a time.",
        READ_FILE.input_schema,
        lambda given: Call("read_file", given),
        reads_only=True,
    ),
    Offered(
        "run_check",
        "Run a Check",
        "Run a command, or all checks that are set, on the proposed files, in a sandbox without network. What it "
        "changes is discarded.",
        RUN_CHECK.input_schema,
        lambda given: Call("run_check", given),
    ),
    Offered(
        "plan",
        "Write the Plan",
        "Replace the plan that the user sees. Send the whole list; keep the ids of items. Exactly one item is "
        "in_progress. An item is completed only if its check passes.",
        TODO.input_schema,
        lambda given: Call("todo", given),
    ),
    Offered(
        "pending",
        "Show the Proposals",
        "Show the proposals that the user has not decided on, as diffs.",
        {"type": "object", "properties": {}},
        None,
        reads_only=True,
    ),
)
