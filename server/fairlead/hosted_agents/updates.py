"""Reads what an agent reports (ACP, `session/update`).

Agents break the order and leave out fields: calls whose first sign is a question, results without a start, plans
without a status. So everything is read as a change of what is known, by id, and what cannot be read is left out.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, TypeGuard, get_args

from fairlead.agent.events import Location, ToolKind
from fairlead.display import escape_invisible, shorten
from fairlead.json_values import check_encodable, fields_of, is_list, is_object

CallStatus = Literal["pending", "in_progress", "completed", "failed"]
MAX_TITLE, MAX_OUTPUT, MAX_ENTRIES, MAX_ENTRY = 300, 40_000, 200, 2_000
MAX_INPUT = 200_000
"""How much of a call's input is kept, in characters of JSON."""
MAX_CHOICES, MAX_OPTIONS, MAX_LOCATIONS = 200, 50, 100
MAX_ID = 1_000
"""The most characters of an id."""
MAX_PATH = 4_096
MAX_COUNT = 10**15
"""The largest number of tokens or US dollars that is believed. JavaScript has all integers up to nine times as many."""
_FENCED = re.compile(r"(?s)```[\w-]*\n((?:(?!```).)*?)\n?```")
_BOX = re.compile(r"(?m)^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[([ \w~/>-])\][ \t]+(\S.*)$")
_BOXES = {" ": "pending", "x": "completed"}
"""The status of an entry by what is in its box; anything else says that it is in progress."""
ENDED: tuple[CallStatus, ...] = ("completed", "failed")
_KINDS: Mapping[str, ToolKind] = {
    **{kind: kind for kind in get_args(ToolKind) if kind not in ("ask", "agent")},
    "switch_mode": "think",
}


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of what the agent writes."""

    text: str
    is_thought: bool = False


@dataclass(frozen=True, slots=True)
class CallState:
    """What is known about a call."""

    id: str
    title: str = ""
    kind: ToolKind = "other"
    status: CallStatus | None = None
    output: str = ""
    """The texts that it has returned so far."""
    locations: tuple[Location, ...] = ()
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    claims: tuple[str, ...] = ()
    """The paths of the files that it says it has changed."""

    @property
    def command(self) -> str:
        """The command line that it runs, which some agents say only in the title; empty for another kind of call."""
        return (self._given_command or self.title) if self.kind == "execute" else ""

    @property
    def says_what(self) -> bool:
        """Whether it is known what the call does. At first, some agents say only the name of the tool."""
        return bool(self._given_command if self.kind == "execute" else self.input)

    @property
    def _given_command(self) -> str:
        given = self.input.get("command", self.input.get("cmd", self.input.get("commands")))
        if isinstance(given, str):
            return given
        words = [each for each in given if isinstance(each, str)] if is_list(given) else []
        if "commands" in self.input:  # cline: several
            return "\n".join(words)
        # codex: ["bash", "-lc", "..."]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)


@dataclass(frozen=True, slots=True)
class PlanEntries:
    """The agent's whole plan."""

    items: Sequence[Mapping[str, str]]
    """Each has a `content` and a `status`, as `TodoManager.update` takes them."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values that an agent offers."""

    id: str
    name: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """Something that the user can choose for an agent: its mode, its model, how much it thinks."""

    id: str
    name: str
    category: str
    value: str
    choices: tuple[Choice, ...]
    setter: Literal["option", "mode", "model"] = "option"
    """Which request sets it."""


@dataclass(frozen=True, slots=True)
class Options:
    """All options of a session."""

    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class ModeChanged:
    id: str


@dataclass(frozen=True, slots=True)
class Commands:
    """What the user can write after a slash."""

    commands: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Used:
    """How much of its window the session fills, and what it has cost so far."""

    tokens: int
    window: int | None
    cost: float | None
    """US dollars; None: unknown."""


Update = Said | CallState | PlanEntries | Options | ModeChanged | Commands | Used


def read_update(update: Mapping[str, Any], known: Mapping[str, CallState]) -> Update | None:
    """What an update says; None if that is nothing for the user.

    Args:
        known: the calls so far, by id.
    """
    match update.get("sessionUpdate"):
        case "agent_message_chunk":
            return _said(update, is_thought=False)
        case "agent_thought_chunk":
            return _said(update, is_thought=True)
        case "tool_call" | "tool_call_update":
            return read_call(update, known)
        case "plan":
            return read_plan(update.get("entries"))
        case "available_commands_update":
            return Commands(tuple(_choices(update.get("availableCommands"), "name")))
        case "current_mode_update":
            mode = update.get("currentModeId", update.get("modeId"))
            return ModeChanged(mode) if is_id(mode) else None
        case "config_option_update":
            return Options(read_options(update))
        case "usage_update":
            return _used(update)
        case _:
            return None


def _said(update: Mapping[str, Any], *, is_thought: bool) -> Said | None:
    text = _text_of(update.get("content"))
    return Said(text, is_thought) if text else None


def read_call(given: Mapping[str, Any], known: Mapping[str, CallState]) -> CallState | None:
    """A call with what a frame says about it; None if the frame names no call."""
    call_id = given.get("toolCallId")
    if not is_id(call_id):
        return None
    call = known.get(call_id) or CallState(call_id)
    changes: dict[str, Any] = {}
    if (title := _line(given.get("title"))) and not (call.title and call.status in ENDED):
        changes["title"] = title
    if (kind := _KINDS.get(_text(given.get("kind")))) is not None:
        changes["kind"] = kind
    status = given.get("status")
    if status in get_args(CallStatus) and call.status not in ENDED:
        changes["status"] = status
    content = given.get("content")
    if is_list(content):
        changes["output"] = "\n".join(filter(None, map(_output_of, content)))[-MAX_OUTPUT:]
        claims = (_text(each.get("path")) for each in map(fields_of, content) if each.get("type") == "diff")
        changes["claims"] = tuple(islice(filter(None, claims), MAX_LOCATIONS))
    if not changes.get("output") and (raw := _raw_output(given.get("rawOutput"))):
        changes["output"] = raw
    more = fields_of(fields_of(given.get("_meta")).get("terminal_output_delta")).get("data")
    if isinstance(more, str):  # codex, although terminals are not announced
        changes["output"] = (call.output + more)[:MAX_OUTPUT]
    if is_list(given.get("locations")):
        changes["locations"] = tuple(islice(_locations(given["locations"]), MAX_LOCATIONS))
    raw_input = given.get("rawInput")
    if is_object(raw_input) and raw_input and _is_short(raw_input):
        changes["input"] = raw_input
    changed = replace(call, **changes)
    return replace(changed, kind="execute") if _is_command(changed) else changed


def _is_command(call: CallState) -> bool:
    """Whether a call whose kind the agent does not say runs a command (goose): the user's rules for commands apply."""
    return call.kind == "other" and isinstance(call.input.get("command"), str) and "path" not in call.input


def read_plan(entries: Any) -> PlanEntries | None:
    """The plan of an update, or of a todo tool; None if there is none."""
    if not is_list(entries):
        return None
    items: list[Mapping[str, str]] = []
    for entry in map(fields_of, entries[:MAX_ENTRIES]):
        content = next(
            filter(None, (_line(entry.get(name), MAX_ENTRY) for name in ("content", "step", "description"))), ""
        )
        status = _text(entry.get("status"))
        if content:
            item = {"content": content, "status": status if status in ("in_progress", "completed") else "pending"}
            active = _line(entry.get("activeForm"), MAX_ENTRY)
            items.append({**item, "activeForm": active} if active else item)
    return PlanEntries(_with_current(items))


def _with_current(items: Sequence[Mapping[str, str]]) -> Sequence[Mapping[str, str]]:
    """The items, the first open one in progress if none is: otherwise the agent's work belonged to no step.

    Then it could complete the step without its checks.
    """
    statuses = [each["status"] for each in items]
    if "in_progress" in statuses or "pending" not in statuses:
        return items
    first = statuses.index("pending")
    return [*items[:first], {**items[first], "status": "in_progress"}, *items[first + 1 :]]


def plan_of_call(call: CallState) -> PlanEntries | None:
    """The plan that a call of a todo tool writes; None if it is another tool: some agents have no plan update."""
    given = call.input.get("todos", call.input.get("plan"))
    if list(call.input) == ["content"]:  # goose: a text, and no file that it would be written to
        given = [*_checklist(_text(call.input["content"]))]
    if not is_list(given) or not given or not all("status" in fields_of(each) for each in given):
        return None
    return read_plan(given)


def _checklist(text: str) -> Iterable[Mapping[str, str]]:
    """The entries of a list in Markdown whose items begin with a box, such as `- [x]`."""
    for box, content in _BOX.findall(text):
        yield {"content": content, "status": _BOXES.get(box.lower(), "in_progress")}


def read_options(result: Mapping[str, Any]) -> tuple[Option, ...]:
    """The options in the answer to a new session, or in an update."""
    found: list[Option] = []
    given = result.get("configOptions")
    for each in map(fields_of, given[:MAX_OPTIONS] if is_list(given) else ()):
        name, value = each.get("id"), each.get("currentValue")
        choices = tuple(_choices(_flat(each.get("options")), "value"))
        if is_id(name) and is_id(value) and choices:
            title = _line(each.get("name")) or escape_invisible(name)
            found.append(Option(name, title, _line(each.get("category")), value, choices))
    categories = {each.category for each in found}
    modes, models = fields_of(result.get("modes")), fields_of(result.get("models"))
    if "mode" not in categories and is_id(modes.get("currentModeId")):
        choices = tuple(_choices(modes.get("availableModes"), "id"))
        found.append(Option("mode", "Mode", "mode", modes["currentModeId"], choices, "mode"))
    if "model" not in categories and is_id(models.get("currentModelId")):
        choices = tuple(_choices(models.get("availableModels"), "modelId"))
        found.append(Option("model", "Model", "model", models["currentModelId"], choices, "model"))
    return tuple(found)


def _flat(options: Any) -> list[Any]:
    """The values of an option, which may be in groups."""
    found: list[Any] = []
    for each in options if is_list(options) else ():
        group = fields_of(each).get("options")
        found += group if is_list(group) else [each]
    return found


def _choices(given: Any, key: str) -> Iterable[Choice]:
    for each in map(fields_of, given[:MAX_CHOICES] if is_list(given) else ()):
        found = each.get(key)
        if is_id(found):
            yield Choice(found, _line(each.get("name")) or escape_invisible(found), _line(each.get("description")))


def _used(update: Mapping[str, Any]) -> Used | None:
    tokens = read_count(update.get("used"))
    if tokens is None:
        return None
    cost = fields_of(update.get("cost"))
    amount = cost.get("amount") if cost.get("currency", "USD") == "USD" else None
    return Used(tokens, read_count(update.get("size")) or None, _amount(amount))


def read_count(value: Any) -> int | None:
    """A number of things; None if it cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT else None


def _amount(value: Any) -> float | None:
    is_amount = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return float(value) if is_amount else None


def is_id(value: Any) -> TypeGuard[str]:
    """Whether this can be the id of something, which is saved and sent with all that is about it."""
    return isinstance(value, str) and 0 < len(value) <= MAX_ID


def _is_short(value: Any) -> bool:
    try:
        check_encodable(value)
        return len(json.dumps(value)) <= MAX_INPUT
    except (ValueError, RecursionError):
        return False


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _text_of(content: Any) -> str:
    return _text(fields_of(content).get("text"))


def _output_of(part: Any) -> str:
    """The text of a part of a result, without the fence that some agents put around it."""
    given = fields_of(part)
    text = _text_of(given.get("content")) if given.get("type") == "content" else ""
    fenced = _FENCED.fullmatch(text.strip())
    return fenced[1] if fenced is not None else text


def _raw_output(given: Any) -> str:
    if is_list(given):  # cline: the result of each command
        given = "\n".join(filter(None, map(_raw_output, given)))
    if is_object(given):
        given = next(
            (given[name] for name in ("formatted_output", "output", "stdout", "result") if name in given), None
        )
    return given[-MAX_OUTPUT:] if isinstance(given, str) else ""


def _locations(given: Iterable[Any]) -> Iterable[Location]:
    for each in map(fields_of, given):
        path, line = each.get("path"), each.get("line")
        if isinstance(path, str) and 0 < len(path) <= MAX_PATH:
            yield Location(path, read_count(line) or None)


def _line(value: Any, most: int = MAX_TITLE) -> str:
    """A text as one line that shows what it contains; empty if it is none."""
    return shorten(escape_invisible(" ".join(value.split())), most) if isinstance(value, str) else ""
