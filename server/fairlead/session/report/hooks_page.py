"""A page about the hooks: what there is, whether it may run, and what is wrong with the files."""

from collections.abc import Sequence

from fairlead.session.report.file_names import FileNames
from fairlead.session.report.markdown import code_span, plain
from fairlead.user_hooks.definition import UnsupportedHook, UserHook
from fairlead.user_hooks.events import EVENTS
from fairlead.user_hooks.find import OWN_FILES, WORKSPACE_FILES, WORKSPACE_FOLDER, FoundHooks
from fairlead.user_hooks.hooks import HookStatus

STATES = {
    "allowed": "You have allowed it.",
    "notAllowed": "**Not allowed yet.** You are asked when it is to run.",
    "own": "It is your own, so it runs without asking.",
}


def hooks_page(found: FoundHooks, statuses: Sequence[HookStatus], names: FileNames) -> str:
    """The page as Markdown."""
    parts = ["# Hooks"]
    of_workspace = [each for each in statuses if each.hook.folder is not None]
    own = [each for each in statuses if each.hook.folder is None]
    parts += _section("Hooks of this workspace", [_item(each, names) for each in of_workspace])
    parts += _section("Your own hooks", [_item(each, names) for each in own])
    parts += _section("Not supported", [_unsupported(each, names) for each in found.unsupported])
    if len(parts) == 1:
        files = ", ".join(map(code_span, (*WORKSPACE_FILES, f"{WORKSPACE_FOLDER}/*.json")))
        home = ", ".join(code_span(f"~/{name}") for name in OWN_FILES)
        parts.append(f"There are none. They are read from {files} in the workspace, and from {home}.")
    parts += _section("Problems", list(map(names.about, found.problems)))
    return "\n\n".join(parts) + "\n"


def _section(title: str, items: Sequence[str]) -> list[str]:
    return [f"## {title}", "\n".join(items)] if items else []


def _item(status: HookStatus, names: FileNames) -> str:
    hook = status.hook
    matcher = f" for {code_span(hook.matcher)}" if hook.matcher and EVENTS[hook.event].matched else ""
    return f"- **{hook.event}**{matcher}: {code_span(_line(hook.command))} {STATES[status.state]} {_place(hook, names)}"


def _unsupported(hook: UnsupportedHook, names: FileNames) -> str:
    return (
        f"- {code_span(hook.event)}: {code_span(_line(hook.what) or '-')} {plain(hook.reason)}. {_place(hook, names)}"
    )


def _place(hook: UserHook | UnsupportedHook, names: FileNames) -> str:
    return f"({names.of(hook.file, hook.line)})"


def _line(command: str) -> str:
    return " ".join(command.split())
