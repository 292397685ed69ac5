"""What the user is looking at, as one small block after the prompt. Pure.

The block names files, and never quotes them. A follow-up repeats only what changed since the last block.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.display import count_of, escape_to_one_line
from fairlead.messages.history import clean_text, notes_in
from fairlead.messages.parts import Message, Note
from fairlead.workspace.editor import SEVERITIES, Diagnostic
from fairlead.workspace.paths import Roots

BEGIN, END = "<context>", "</context>"
LEAD = "What the user is looking at:"
CHANGED_LEAD = "Changes in what the user is looking at:"
UNCHANGED = "What the user is looking at has not changed."
NOTHING = "none"

# limits in characters; all sections together are shorter than 2,000
MAX_ACTIVE = 250
MAX_TABS = 350
MAX_PROBLEMS = 600
MAX_MESSAGE = 160
MAX_CHANGES = 350
MAX_BRANCH = 100

ACTIVE, PROBLEMS, BRANCH = "Active file", "Problems in the open files", "Git branch"
SUMMARY = {ACTIVE: "active file {}", PROBLEMS: "{}", BRANCH: "branch {}"}
"""The form of each section in the summary for the user, by label."""

Lines = tuple[int, int]
"""The first and the last line of a range, counted from 1."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs from the last commit."""

    path: Path
    state: str
    """One word, such as `modified`."""


@dataclass(frozen=True, slots=True)
class GitState:
    """The state of the workspace's repository."""

    branch: str
    """For the model; with several folders, it may name the branch of each."""
    changed: int | None = None
    """How many files differ from the last commit; None if that is unknown."""
    files: tuple[ChangedFile, ...] = ()
    """Some of them."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the user's editor shows."""

    active: Path | None = None
    visible: Lines | None = None
    """The lines of the active file on the screen."""
    selected: Lines | None = None
    """The selected lines of the active file."""
    tabs: tuple[Path, ...] = ()
    """The open files, which may include the active one."""
    errors: int = 0
    """The number of errors in the open files."""
    warnings: int = 0
    """The number of warnings in the open files."""
    worst: tuple[Diagnostic, ...] = ()
    """Some of these problems, in any order."""
    git: GitState | None = None
    """None: the editor did not report it."""


@dataclass(frozen=True, slots=True)
class _Section:
    text: str
    """For the model."""
    head: str = ""
    """What the summary for the user has of it."""


def lines_text(first: int, last: int) -> str:
    """`line 2` or `lines 2 to 4`."""
    return f"line {first}" if first == last else f"lines {first} to {last}"


def surroundings_note(
    now: Surroundings, roots: Roots, is_secret: Callable[[str], bool], messages: Sequence[Message]
) -> tuple[Note, str] | None:
    """The note for the prompt that follows these messages, and a summary of it in one line for the user.

    None if nothing is known, and the messages contain no earlier note. If they contain one, the new note names
    only the changes since then, or says that there are none; then the summary is empty.

    Args:
        is_secret: whether a path that `Roots.relative` returned looks like a secret. Neither such files nor files
            outside of the workspace are named.
    """
    sections = _sections(_visible_part(now, roots, is_secret), roots)
    known = {label: text for note in notes_in(messages) for label, text in note.sections}
    if not known:
        return _note(LEAD, sections) if sections else None
    changed = {label: section for label, section in sections.items() if known.get(label) != section.text}
    gone = [label for label, text in known.items() if label not in sections and text]
    changed |= dict.fromkeys(gone, _Section("", NOTHING))
    return _note(CHANGED_LEAD if changed else UNCHANGED, changed)


def _note(lead: str, sections: Mapping[str, _Section]) -> tuple[Note, str]:
    """The note, and the most important sections in one line; without any of them, the labels of the others."""
    texts = [(label, section.text) for label, section in sections.items()]
    lines = [f"{label}: {text or NOTHING}" for label, text in texts]
    heads = [form.format(sections[label].head) for label, form in SUMMARY.items() if label in sections]
    summary = "; ".join(heads) or ", ".join(sections).lower()
    return Note("context", clean_text("\n".join([BEGIN, lead, *lines, END])), tuple(texts)), summary


def _visible_part(now: Surroundings, roots: Roots, is_secret: Callable[[str], bool]) -> Surroundings:
    """The surroundings without files that are outside of the workspace or look like secrets. Counts include them."""

    def is_shown(path: Path) -> bool:
        is_inside = roots.contains(Path(os.path.normpath(path))) and path not in roots.paths
        return is_inside and not is_secret(roots.relative(path))

    git = now.git
    if git is not None:
        git = replace(git, files=tuple(file for file in git.files if is_shown(file.path)))
    return replace(
        now,
        active=now.active if now.active is not None and is_shown(now.active) else None,
        tabs=tuple(dict.fromkeys(path for path in now.tabs if is_shown(path))),
        worst=tuple(problem for problem in now.worst if is_shown(problem.path)),
        git=git,
    )


def _sections(now: Surroundings, roots: Roots) -> Mapping[str, _Section]:
    """Each section by its label. Each line of its text after the first begins with `- `."""
    sections: dict[str, _Section] = {}
    if now.active is not None:
        name = _cut(_safe_line(roots.relative(now.active)), MAX_ACTIVE)
        spans = [
            f"{lines_text(*span)} {what}"
            for span, what in ((now.visible, "visible"), (now.selected, "selected"))
            if span is not None
        ]
        sections[ACTIVE] = _Section(", ".join([name, *spans]), name)
    others = [_safe_line(roots.relative(path)) for path in now.tabs if path != now.active]
    if others:
        sections["Other open files"] = _Section(_listed(others, MAX_TABS))
    if now.errors or now.warnings:
        counts = [count_of(count, noun) for count, noun in ((now.errors, "error"), (now.warnings, "warning")) if count]
        worst = sorted(now.worst, key=lambda problem: (SEVERITIES.index(problem.severity), problem.path, problem.line))
        lines = _fitting([f"- {_problem(problem, roots)}" for problem in worst], MAX_PROBLEMS)
        sections[PROBLEMS] = _Section("\n".join([", ".join(counts), *lines]), ", ".join(counts))
    if now.git is not None:
        sections |= _git_sections(now.git, roots)
    return sections


def _git_sections(git: GitState, roots: Roots) -> Mapping[str, _Section]:
    branch = _cut(_safe_line(git.branch), MAX_BRANCH)
    sections = {BRANCH: _Section(branch, branch)}
    if git.changed:
        shown = _fitting(
            [f"- {_safe_line(file.state)} {_safe_line(roots.relative(file.path))}" for file in git.files],
            MAX_CHANGES,
        )
        count = count_of(git.changed, "file")
        text = "\n".join([f"{count}{', among them' if shown else ''}", *shown])
        sections["Uncommitted changes"] = _Section(text)
    return sections


def _problem(problem: Diagnostic, roots: Roots) -> str:
    source = f" [{_cut(_safe_line(problem.source), 30)}]" if problem.source else ""
    message = _cut(_safe_line(" ".join(problem.message.split())), MAX_MESSAGE)
    return f"{_safe_line(roots.relative(problem.path))}:{problem.line} {problem.severity} {message}{source}"


def _listed(names: Sequence[str], limit: int) -> str:
    """The first names that fit, and how many more there are."""
    shown = _fitting(names, limit)
    more = len(names) - len(shown)
    if not more:
        return ", ".join(shown)
    return f"{', '.join(shown)} and {more:,} more" if shown else f"{more:,}"


def _fitting(texts: Iterable[str], limit: int) -> list[str]:
    """The first texts, as many as fit into `limit` characters. Each takes two more for its separator."""
    shown: list[str] = []
    for text in texts:
        limit -= len(text) + 2
        if limit < 0:
            break
        shown.append(text)
    return shown


def _safe_line(text: str) -> str:
    """The text with invisible characters and line ends escaped, and without anything that could end the block."""
    return escape_to_one_line(clean_text(text)).replace("</", "<\\/")


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}..."
