"""A commit's changes as the agent's tool calls, and those that are made without the agent, with the reasons.

The rules about the product's abilities come from its documentation, not from its code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from history import text as texts
from history.edits import Piece, pieces, shares
from history.git import LINK, SUBMODULE, Change, Entry, merged
from history.text import MAX_BYTES, PLAIN, Text, TextFormat, decode
from history.tree import Blob, mode_of

Call = dict[str, dict[str, Any]]

# how likely it is that a changed file is rewritten as a whole, that a new file is written in part and then edited, and
# that the user changes a file too
REWRITES = 0.15
CORRECTIONS = 0.1
TYPED = 0.1
CARRIAGE_RETURNS_GO = "line ends become LF"
FILE_MODE = "file mode"
NEW = Entry("100644", "")


@dataclass
class Job:
    """One file that the agent changes. It moves from `path` to `new_path`; one of them may be None.

    `text` is the file's text at the end, `texts` its text after each call. `typed` is the old text with the changes
    that the user makes meanwhile; then `text` contains both. `refusable` says why the product may refuse all of the
    calls, or is empty. If they are refused, or there are none, the change is made without the agent.
    """

    change: Change
    path: str | None
    new_path: str | None
    text: str | None
    text_format: TextFormat
    calls: list[Call] = field(default_factory=list)
    refusable: str = ""
    texts: list[str | None] = field(default_factory=list)
    typed: str | None = None

    def __post_init__(self) -> None:
        self.texts = self.texts or [self.text] * len(self.calls)

    def proposed_after(self, count: int) -> Job | None:
        """The part of the job that is proposed after its first `count` calls, None if `count` is 0."""
        if not count:
            return None
        moved = any("rename_file" in call for call in self.calls[:count])
        new_path = self.new_path if moved or self.path is None or self.new_path is None else self.path
        return replace(self, text=self.texts[count - 1], new_path=new_path)

    @property
    def names(self) -> list[str]:
        return [name for name in (self.path, self.new_path) if name is not None]


@dataclass
class Plan:
    """The plan for a commit: changes before the agent runs, the agent's jobs in stages, and changes after the runs.

    `modes` are the changes of permissions, which the tool makes last. `direct` counts the changes without the agent by
    their reason, `kinds` the files of the agent by their categories.
    """

    before: list[Change] = field(default_factory=list)
    stages: list[list[Job]] = field(default_factory=list)
    after: list[Change] = field(default_factory=list)
    modes: list[Change] = field(default_factory=list)
    direct: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


def plan(changes: Sequence[Change], blob: Blob, rng: Random) -> Plan:
    made = Plan()
    jobs: list[Job] = []
    for change in changes:
        job = _job(change, blob, rng)
        if isinstance(job, str):
            made.direct[job] += 1
            if change.status in "DTR":
                made.before.append(change)
            if change.new is not None and change.new.mode != SUBMODULE:
                made.after.append(change)
        else:
            jobs.append(job)
            made.kinds.update(_kinds(change, job))
    made.stages = _stages(jobs, blob, rng)
    for job in (job for stage in made.stages for job in stage):
        if not job.calls:
            made.direct[job.refusable] += 1
        old, new = job.change.old, job.change.new
        if new is not None and mode_of(new) != (mode_of(old) if old is not None else mode_of(NEW)):
            made.modes.append(job.change)
            made.direct[FILE_MODE] += 1
    return made


def _job(change: Change, blob: Blob, rng: Random) -> Job | str:
    """The agent's job for a change, or the reason why the agent cannot make the change."""
    for entry in (change.old, change.new):
        if entry is not None and not entry.regular:
            return {LINK: "symbolic link", SUBMODULE: "submodule"}.get(entry.mode, "unknown mode")
    if not all(_is_unicode(name) for name in (change.path, change.new_path)):
        return "name is not UTF-8"
    old = blob(change.old) if change.old else None
    new = blob(change.new) if change.new else None
    if change.status == "A" and new is not None:
        return _creation(change, new, rng)
    assert old is not None
    if change.status == "D":
        return _deletion(change, old, rng)
    assert new is not None
    if change.status == "R":
        return _rename(change, old, new, rng)
    if old == new:
        return FILE_MODE
    return _modification(change, old, new, rng)


def _creation(change: Change, data: bytes, rng: Random) -> Job | str:
    found = decode(data)
    if found is None:
        return "binary"
    if found.text_format.codec != "utf-8":
        return f"new file in {found.text_format.codec}"
    if len(data) > MAX_BYTES:
        return "too large"
    if len(texts.line_ends(found.text)) > 1:
        return "new file with mixed line ends"
    content = data.decode()  # the byte order mark is a character of the text
    calls, written = [_write(_name(change.new_path, rng), content)], [content]
    lines = texts.split_lines(content)
    if len(lines) > 1 and rng.random() < CORRECTIONS:
        begun = "".join(lines[: rng.randrange(1, len(lines))])
        edits = pieces(begun, content, rng)
        if edits is not None:
            calls = [_write(_name(change.new_path, rng), begun), *_edits(change.new_path, edits, rng)]
            written = [begun, *(edit.text for edit in edits)]
    return Job(change, None, change.new_path, content, PLAIN, calls, texts=list(written))


def _deletion(change: Change, data: bytes, rng: Random) -> Job:
    found = decode(data)
    call: Call = {"delete_file": {"path": _name(change.path, rng)}}
    return Job(change, change.path, None, None, found.text_format if found else PLAIN, [call], _no_text(data))


def _rename(change: Change, old: bytes, new: bytes, rng: Random) -> Job | str:
    found = decode(old)
    move: Call = {"rename_file": {"path": _name(change.path, rng), "new_path": _name(change.new_path, rng)}}
    if old == new:
        text, text_format = (found.text, found.text_format) if found else (None, PLAIN)
        return Job(change, change.path, change.new_path, text, text_format, [move], _no_text(old))
    inner = _modification(change, old, new, rng)
    if isinstance(inner, str):
        return inner
    first = rng.random() < 0.5
    name = change.new_path if first else change.path
    for call in inner.calls:
        next(iter(call.values()))["path"] = _name(name, rng)
    inner.calls = [move, *inner.calls] if first else [*inner.calls, move]
    inner.texts = [found.text if found else None, *inner.texts] if first else [*inner.texts, inner.text]
    return inner


def _modification(change: Change, old: bytes, new: bytes, rng: Random) -> Job | str:
    if len(old) > MAX_BYTES or len(new) > MAX_BYTES:
        return "too large"
    found = decode(old)
    if found is None or decode(new) is None:
        return "binary"
    text = texts.decode_as(new, found.text_format)
    if text is None:
        return "encoding or byte order mark changes"
    if found.text_format.codec in texts.WESTERN and Counter(filter(_is_beyond_ascii, text)) - Counter(found.text):
        return "characters beyond ASCII in an unknown encoding"
    shared = _shared(change, found, text, rng)
    if shared is not None:
        return shared
    is_mixed = len(texts.line_ends(text)) > 1
    edits = pieces(found.text, text, rng) if is_mixed or rng.random() > REWRITES else None
    calls: list[Call] = []
    if edits is not None:
        calls = _edits(change.path, edits, rng)
        written = [edit.text for edit in edits]
        return Job(change, change.path, change.new_path, text, found.text_format, calls, texts=list(written))
    if _can_rewrite(found.text, text):
        end = texts.one_end(found.text, text)
        plain = end is not None and texts.line_ends(found.text) and rng.random() < 0.5
        calls.append(_write(_name(change.path, rng), texts.with_lf(text) if plain else text))
    else:
        return CARRIAGE_RETURNS_GO
    return Job(change, change.path, change.new_path, text, found.text_format, calls)


def _shared(change: Change, old: Text, new: str, rng: Random) -> Job | None:
    """A file that the agent and the user change at the same time, if Git merges that to the same result."""
    if change.status != "M" or old.text_format.codec != "utf-8" or rng.random() > TYPED:
        return None
    parts = shares(old.text, new, rng)
    if parts is None or merged(*(text.encode() for text in (parts[1], old.text, parts[0]))) != new.encode():
        return None
    edits = pieces(old.text, parts[0], rng)
    if edits is None:
        return None
    calls = _edits(change.path, edits, rng)
    return Job(change, change.path, change.path, new, old.text_format, calls, typed=parts[1])


def _can_rewrite(old: str, new: str) -> bool:
    """Whether `write_file` can change the old text to the new one.

    It cannot change line endings to LF, because content with LF gets the file's line endings. So does mixed content.
    """
    return (len(texts.line_ends(new)) == 1 and "\r" in new) or "\r" not in old or not texts.line_ends(new)


def _stages(jobs: list[Job], blob: Blob, rng: Random) -> list[list[Job]]:
    """The jobs in at most two stages.

    If a folder takes the place of a file, or a file the place of a folder, the first stage deletes the old files.
    """
    gone = {job.path for job in jobs if job.path is not None and job.path != job.new_path}
    come = {job.new_path for job in jobs if job.new_path is not None and job.path != job.new_path}
    colliding = {name for name in gone if name is not None and _above(name) & come}
    colliding |= {name for name in gone if name is not None and any(name in _above(other) for other in come if other)}
    if not colliding:
        return [jobs] if jobs else []
    first: list[Job] = []
    second: list[Job] = []
    for job in jobs:
        if job.path not in colliding or job.path == job.new_path:
            second.append(job)
            continue
        change = job.change
        assert change.old is not None
        gone_change = Change("D", change.path, change.path, change.old, None)
        first.append(_deletion(gone_change, blob(change.old), rng))
        if change.new is not None:
            come_change = Change("A", change.new_path, change.new_path, None, change.new)
            again = _creation(come_change, blob(change.new), rng)
            if isinstance(again, str):  # a new file that only a rename could create
                again = Job(come_change, None, change.new_path, None, PLAIN, [], again)
            second.append(again)
    return [stage for stage in (first, second) if stage]


def _above(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[:depth]) for depth in range(1, len(parts))}


def _edits(path: str, edits: Sequence[Piece], rng: Random) -> list[Call]:
    return [{"edit_file": {"path": _name(path, rng), "old_text": one.old, "new_text": one.new}} for one in edits]


def _write(path: str, content: str) -> Call:
    return {"write_file": {"path": path, "content": content}}


def _name(path: str, rng: Random) -> str:
    """Varies the spelling of a path, as models do."""
    return f"./{path}" if rng.random() < 0.03 else path


def _is_beyond_ascii(character: str) -> bool:
    return not character.isascii()


def _no_text(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        return "too large"
    return "binary" if decode(data) is None else ""


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kinds(change: Change, job: Job) -> list[str]:
    """The categories of a file in the statistics."""
    names = {"A": "created", "D": "deleted", "M": "modified", "R": "renamed"}
    kind = names[change.status]
    if change.status == "R" and change.old and change.new and change.old.oid != change.new.oid:
        kind = "renamed and changed"
    odd: list[str] = []
    if job.text is not None:
        ends = texts.describe_ends(job.text)
        odd += [ends] if ends in ("CRLF", "CR", "mixed") else []
        odd += [job.text_format.name] if job.text_format != PLAIN else []
        odd += ["no final newline"] if job.text and not texts.end_of(job.text) else []
        odd += ["non-ASCII"] if not job.text.isascii() else []
    return [kind, *odd]
