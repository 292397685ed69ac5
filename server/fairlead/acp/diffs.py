"""Proposals as the diffs of the protocol, which can show only the text of one file that exists afterwards."""

from collections.abc import Collection
from pathlib import Path

from acp import schema

from fairlead.acp.texts import MAX_DIFF, inline, plain
from fairlead.display import count_of, escape_to_one_line
from fairlead.edits.proposal import Proposal
from fairlead.workspace.paths import Roots


def diff_of(proposal: Proposal) -> schema.FileEditToolCallContent | None:
    """The user's text and the proposed one. None: a diff cannot show it, or the texts are too long."""
    new = proposal.proposed
    if new is None or proposal.raw.data is not None or new == proposal.current:
        return None
    return _diff(proposal.target, proposal.current, new)


def diff_of_hunks(proposal: Proposal, hunk_ids: Collection[str]) -> schema.FileEditToolCallContent | None:
    """The user's text, and what it is after some hunks are accepted."""
    _, new = proposal.applied(proposal.regions_of_hunks(hunk_ids))
    return _diff(proposal.target, proposal.current, new)


def _diff(path: str, old: str | None, new: str) -> schema.FileEditToolCallContent | None:
    if max(len(old or ""), len(new)) > MAX_DIFF:
        return None
    return schema.FileEditToolCallContent(
        type="diff", path=plain(path), old_text=plain(old) if old is not None else None, new_text=plain(new)
    )


def in_words(proposal: Proposal, roots: Roots) -> str:
    """What the proposal does to the file, for what its diff does not show; may be empty."""
    name, words = _name(proposal.path, roots), list[str]()
    match proposal.kind:
        case "delete":
            words.append(f"Deletes {name}.")
        case "rename":
            words.append(f"Renames {name} to {_name(proposal.target, roots)}.")
        case "create" if not proposal.proposed and proposal.raw.data is None:
            words.append(f"Creates {name}, which is empty.")
        case _:
            pass
    if proposal.raw.data is not None:
        words.append(f"{name} gets {count_of(len(proposal.raw.data), 'byte')} that are not shown as text.")
    elif proposal.proposed is not None and max(len(proposal.current or ""), len(proposal.proposed)) > MAX_DIFF:
        words.append(f"The text of {name} is too long to show as a diff. See it with `fairlead review`.")
    if proposal.raw.mode is not None:
        words.append(f"The permissions of {name} become {proposal.raw.mode:03o}.")
    if proposal.in_conflict:
        words.append(
            "You changed the same lines since they were proposed."
            if proposal.current is not None
            else "You deleted this file since the change was proposed."
        )
    return " ".join(words)


def _name(path: str, roots: Roots) -> str:
    return inline(escape_to_one_line(roots.relative(Path(path))))
