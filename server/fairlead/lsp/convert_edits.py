"""Converts proposed edits to wire shapes and to LSP's text edits. Pure functions."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

from fairlead.code.decode import Problem
from fairlead.display import escape_to_one_line
from fairlead.edits.diff import Hunk, changed_blocks
from fairlead.edits.per_proposal import PerProposal
from fairlead.edits.proposal import Proposal
from fairlead.lsp.convert import wire_phrase, wire_sentence
from fairlead.lsp.convert_checks import check_result, needed_changes, smallest_set
from fairlead.positions import code_units
from fairlead.sentences import Sentence, phrases_of
from fairlead.session.events import EditsChanged
from fairlead.session.review.target import HunkOutcome
from fairlead.text_lines import split_lines
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.workspace.editor import SEVERITIES, FileEdit
from fairlead.workspace.paths import Roots
from fairlead.workspace.protected import risk

SNIPPET_LENGTH = 80
NOT_WEAKENED: Mapping[str | None, tuple[Sentence, ...]] = MappingProxyType({})


def _place(file: states.FileEditsWire, unread_first: bool) -> tuple[bool, bool, str]:
    """Where a file is in the list: a key to sort by."""
    is_ordinary = file["risk"] is None and not file["protected"]
    is_read = unread_first and not file["unread"]
    return is_ordinary, is_read, file["uri"].rpartition("/")[0] if is_ordinary else ""


def edits(
    session_id: str,
    roots: Roots,
    state: EditsChanged,
    encoding: str = "utf-16",
    cache: PerProposal[states.FileEditsWire] | None = None,
) -> states.EditsWire:
    """The proposals: risky and protected files first, then by folder, and in a folder as the files were first changed.

    If the user's settings say so, those that no check has read come before the other ordinary ones.

    Args:
        encoding: the position encoding.
        cache: holds the converted files of the last state, and is updated.
    """
    errors = {str(path): found for path, found in state.errors.items()}

    def converted(proposal: Proposal) -> states.FileEditsWire:
        protected = proposal.path in state.protected
        weakened, unread = state.weakened.get(proposal.path, {}), proposal.path in state.unread
        return proposal.derive(file, roots, protected, errors.get(proposal.target, ()), encoding, weakened, unread)

    inputs = roots, state.protected, errors, encoding, state.weakened, state.unread
    by_path = (cache or PerProposal()).of(state.changes, converted, *inputs)
    files = [by_path[path] for path in state.changes.in_first_order]
    return {
        "sessionId": session_id,
        "version": state.version,
        "files": sorted(files, key=lambda each: _place(each, state.unread_first)),
        "undoLabel": state.undo_label,
        "redoLabel": state.redo_label,
        "checked": check_result(state.checked) if state.checked is not None else None,
        "smallest": smallest_set(state.smallest) if state.smallest is not None else None,
        "needed": needed_changes(state.needed) if state.needed is not None else None,
    }


def file(
    proposal: Proposal,
    roots: Roots,
    protected: bool,
    errors: Sequence[Problem] = (),
    encoding: str = "utf-16",
    weakened: Mapping[str | None, tuple[Sentence, ...]] = NOT_WEAKENED,
    unread: bool = False,
) -> states.FileEditsWire:
    """The proposal for a file.

    Args:
        protected: whether accepting it needs a separate confirmation.
        errors: the new errors of the proposed text.
        encoding: the position encoding, for the columns of these errors.
        weakened: why its changes weaken tests, by the id of the hunk (None: the file as a whole).
        unread: whether no check has read it.
    """
    found = proposal.hunks if proposal.raw.data is None else ()
    return {
        "uri": Path(proposal.path).as_uri(),
        "kind": proposal.kind,
        "newUri": Path(proposal.new_path).as_uri() if proposal.new_path is not None else None,
        "state": "conflict" if proposal.in_conflict else "pending",
        "protected": protected,
        "risk": risk(
            proposal.kind, *(PurePath(roots.relative(Path(path))) for path in (proposal.path, proposal.target))
        ),
        "binary": proposal.raw.data is not None,
        "mode": f"{proposal.raw.mode:03o}" if proposal.raw.mode is not None else None,
        "itemIds": list(proposal.item_ids),
        "overtaken": [{"itemId": item_id, "byItemId": by} for item_id, by in proposal.overtaken.items()],
        "additions": sum(len(hunk.new) for hunk in found),
        "deletions": sum(len(hunk.old) for hunk in found),
        "hunks": [_hunk(proposal, hunk, weakened.get(hunk.id, ())) for hunk in found],
        "weakens": list(map(wire_sentence, weakened.get(None, ()))),
        "unread": unread,
        "problems": _problems(errors, proposal.proposed or "", encoding) if errors else [],
    }


def _problems(found: Sequence[Problem], text: str, encoding: str) -> list[states.DiagnosticWire]:
    lines = split_lines(text)

    def position(at: tuple[int, int]) -> states.PositionWire:
        row, column = at
        return {"line": row, "character": code_units(lines[row][:column], encoding) if row < len(lines) else 0}

    return [
        {
            "range": {"start": position(problem.start), "end": position(problem.end)},
            "severity": SEVERITIES.index(problem.severity) + 1,
            "message": problem.message,
            "source": problem.source or None,
        }
        for problem in found
    ]


def _hunk(proposal: Proposal, hunk: Hunk, weakens: Sequence[Sentence]) -> states.HunkWire:
    origin = proposal.origin(hunk)
    conflict, position = proposal.conflicts.get(hunk.id), hunk.position
    return {
        "id": position.id,
        "oldStart": position.old_start,
        "oldLines": position.old_lines,
        "newStart": position.new_start,
        "newLines": position.new_lines,
        "snippet": _snippet(hunk),
        "itemId": origin.item_id if origin else None,
        "toolCallIds": proposal.call_ids(hunk),
        "state": "pending" if conflict is None else "conflict",
        "conflict": None
        if conflict is None
        else {
            "base": conflict.base,
            "current": None if proposal.current is None else conflict.current,
            "proposed": conflict.proposed,
        },
        "weakens": list(map(wire_sentence, weakens)),
    }


def _snippet(hunk: Hunk) -> str:
    """The first new line that is not blank, else the first such old line, shortened."""
    line = next((line.strip() for line in (*hunk.new, *hunk.old) if line.strip()), "")
    shown = escape_to_one_line(line[: SNIPPET_LENGTH + 1])
    return shown if len(shown) <= SNIPPET_LENGTH else f"{shown[: SNIPPET_LENGTH - 1]}…"


def outcome(outcome: HunkOutcome) -> wire.OutcomeWire:
    """What happened to a hunk, or to a file as a whole."""
    return {
        "uri": outcome.path.as_uri(),
        "hunk": outcome.hunk_id,
        "outcome": outcome.outcome,
        "message": outcome.message,
        "texts": list(map(wire_phrase, phrases_of(outcome.message))),
    }


def text_edits(edit: FileEdit, encoding: str) -> list[dict[str, Any]]:
    """The changes of an edit to a text as LSP TextEdits on the old text: whole lines, except at the end of the text."""
    lines, new = split_lines(edit.old or ""), split_lines(edit.new or "")
    return [_text_edit(lines, a0, a1, new[b0:b1], encoding) for a0, a1, b0, b1 in changed_blocks(lines, new)]


def _text_edit(lines: list[str], start: int, end: int, new: list[str], encoding: str) -> dict[str, Any]:
    last, text = lines[-1] if lines else "", "".join(new)
    ending = last[len(last.rstrip("\r\n")) :]
    if start == len(lines) and ending and text.endswith(ending):
        # Neovim adds an empty line after an insertion that follows the last line ending (0.11, `apply_text_edits`)
        position = {"line": start - 1, "character": code_units(last.removesuffix(ending), encoding)}
        return {"range": {"start": position, "end": position}, "newText": ending + text.removesuffix(ending)}
    return {"range": _range(lines, start, end, encoding), "newText": text}


def _range(lines: list[str], start: int, end: int, encoding: str) -> dict[str, Any]:
    return {"start": _line_start(lines, start, encoding), "end": _line_start(lines, end, encoding)}


def _line_start(lines: list[str], index: int, encoding: str) -> dict[str, int]:
    """The start of a line. For the index after the last line, this is the end of the text."""
    if index == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
        return {"line": index - 1, "character": code_units(lines[-1], encoding)}
    return {"line": index, "character": 0}
