"""How a journal contains the values that are not saved field by field. Large ones are numbers (saved_values.py)."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, count, islice, pairwise
from operator import is_not
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

from fairlead.agent.events import RulesSource
from fairlead.edits.origins import Origin, Origins
from fairlead.edits.proposal import Proposal, Raw
from fairlead.edits.undo import Decision
from fairlead.json_reader import Readers, fields_to_json, names_of, to_json
from fairlead.messages.parts import Message, Part, Result
from fairlead.plan.inputs import Inputs, unpack
from fairlead.session.conversation import Entry, Shown
from fairlead.session.state import CallState
from fairlead.session.store.saved_values import Texts

T = TypeVar("T")

Json = dict[str, Any]
Number = Callable[..., int | str | None]
"""`SavedValues.number` or `SavedValues.release`."""

WHOLE = (Message, Entry, Decision, Proposal, Raw, CallState, Inputs)
"""The types of the values that are not saved field by field."""
_PARTS: dict[str, type[Part]] = {part.__name__: part for part in get_args(Part)}
_SHOWN: dict[str, type[Shown]] = {shown.__name__: shown for shown in get_args(Shown)}
_LONG = ("text", "message", "said")
"""The fields of what the conversation shows that can be long. Most of these texts are in the messages too."""


def writers(number: Number, earlier: Callable[[Proposal], Proposal | None]) -> Mapping[type, Callable[[Any], Any]]:
    """How the values of the types in `WHOLE` are written.

    Args:
        earlier: returns an earlier proposal for the same file.
    """

    def write_proposal(proposal: Proposal) -> list[int | str | None]:
        texts, similar = proposal_texts(proposal), earlier(proposal)
        old = proposal_texts(similar) if similar is not None else ProposalTexts(None, None, None, None, "")
        base = number(texts.base, old.base)
        current = number(texts.current, old.current, texts.base)
        proposed = number(texts.proposed, old.proposed, texts.base)
        return [base, current, proposed, number(texts.data, old.data), number(texts.rest, old.rest)]

    return {
        Message: number,
        Entry: number,
        Decision: number,
        Proposal: write_proposal,
        Raw: lambda raw: _row(replace(raw, data=number(raw_data(raw)))),
        CallState: lambda call: _row(replace(call, result=number(call.result))),
        Inputs: lambda inputs: inputs.packed,
    }


def _row(value: Any) -> list[Any]:
    """The values of a dataclass without their names, because some classes have very many or very small values."""
    values = (getattr(value, attribute) for _, attribute in names_of(value.__class__))
    return [each if isinstance(each, Mapping) else to_json(each, _ROW_FORMS) for each in values]


_ROW_FORMS: Mapping[type, Callable[[Any], Any]] = {RulesSource: lambda source: [str(source.path), source.is_cut]}


def _read_row(readers: Readers, kind: type[T], row: Sequence[Any], **read: Callable[[Any], Any]) -> T:
    """The inverse of `_row`. `read` has functions for fields whose values are numbers."""
    fields = dict(zip((name for name, _ in names_of(kind)), row, strict=True))
    fields |= {name: convert(fields[name]) for name, convert in read.items()}
    return readers.read_fields(kind, fields, kind.__name__)


def content(value: Message | Entry | Decision, forms: Mapping[type, Callable[[Any], Any]]) -> Any:
    """What is saved under the number of a message, an entry of the conversation or a decision."""
    if isinstance(value, Decision):
        return fields_to_json(value, forms)
    if isinstance(value, Entry):
        texts = {name: forms[Entry](text) for name in _LONG if (text := getattr(value.shown, name, None)) is not None}
        return [type(value.shown).__name__, *_row(replace(value.shown, **texts))]
    # the call of a result had its output before
    number = forms[Message]
    parts = (replace(part, output=number(part.output)) if isinstance(part, Result) else part for part in value.parts)
    return [value.role, *([type(part).__name__, *_row(part)] for part in parts)]


def readers(texts: Texts, objects: Mapping[int, Any], known: dict[int, Any]) -> Readers:
    """Reads what `writers` and `content` write.

    Args:
        objects: the messages, entries of the conversation and decisions by their numbers, as JSON.
        known: gets those that are read.
    """
    proposals: dict[tuple[int | str | None, ...], Proposal] = {}

    def text(saved: Any) -> Any:
        return texts[saved] if isinstance(saved, int) else saved

    def saved(read: Callable[[Any], Any]) -> Callable[[Readers, Any, str], Any]:
        def read_saved(_: Readers, number: Any, __: str) -> Any:
            if number not in known:
                known[number] = read(objects[number])
            return known[number]

        return read_saved

    def read_part(value: list[Any]) -> Part:
        name, *row = value
        return _read_row(found, _PARTS[name], row, **({"output": text} if name == "Result" else {}))

    def read_message(value: list[Any]) -> Message:
        role, *parts = value
        return Message(_read_row(found, Message, [role, []]).role, tuple(map(read_part, parts)))

    def read_entry(value: list[Any]) -> Entry:
        name, *row = value
        kind = _SHOWN[name]
        return Entry(_read_row(found, kind, row, **{each: text for _, each in names_of(kind) if each in _LONG}))

    def read_proposal(_: Readers, value: Any, __: str) -> Proposal:
        key = tuple(value)
        if key not in proposals:
            proposals[key] = _read_proposal(*map(text, key))
        return proposals[key]

    found = Readers(
        {
            Message: saved(read_message),
            Entry: saved(read_entry),
            RulesSource: lambda _, value, __: RulesSource(Path(value[0]), value[1]),
            Decision: saved(lambda value: found.read_fields(Decision, value, "decision")),
            Proposal: read_proposal,
            Raw: lambda _, value, __: _read_row(found, Raw, value, data=text),
            CallState: lambda _, value, __: _read_row(found, CallState, value, result=text),
            Inputs: lambda _, value, __: unpack(value),
        }
    )
    return found


class ProposalTexts(NamedTuple):
    """A proposal as texts, because each edit repeats most of every part."""

    base: str | None
    current: str | None
    proposed: str | None
    data: str | None
    """The proposed bytes (`raw_data`)."""
    rest: str
    """`_Rest` as JSON."""


@dataclass(frozen=True)
class _Rest:
    """A proposal without its texts and bytes."""

    path: str
    new_path: str | None
    file_origin: Origin | None
    mode: int | None
    bom: bool
    decided: frozenset[str]
    lines: tuple[tuple[int, Origin | None], ...]
    """The origins of the lines, as `_runs`; the same for `gaps`."""
    gaps: tuple[tuple[int, Origin | None], ...]


_ORIGIN_READERS = Readers({Origin: lambda readers, value, _: _read_row(readers, Origin, value)})


def proposal_texts(proposal: Proposal) -> ProposalTexts:
    """The texts of a proposal. Computed once for each proposal."""
    return proposal.derive(_proposal_texts)


def _proposal_texts(proposal: Proposal) -> ProposalTexts:
    raw, origins = proposal.raw, proposal.origins
    rest = _Rest(
        proposal.path,
        proposal.new_path,
        proposal.file_origin,
        raw.mode,
        raw.bom,
        proposal.decided,
        _runs(origins.lines),
        _runs(origins.gaps),
    )
    # the difference between two texts that repeat the names of fields would be long
    rest_text = json.dumps([*vars(rest).values()], default=_rest_json, separators=(",", ":"), ensure_ascii=False)
    return ProposalTexts(proposal.base, proposal.current, proposal.proposed, raw_data(raw), rest_text)


def _rest_json(value: Origin | frozenset[str]) -> list[Any]:
    return _row(value) if isinstance(value, Origin) else sorted(value)


def _read_proposal(
    base: str | None, current: str | None, proposed: str | None, data: str | None, rest_text: str | None
) -> Proposal:
    if rest_text is None:
        raise ValueError("a proposal without a path")
    rest = _read_row(_ORIGIN_READERS, _Rest, json.loads(rest_text))
    max_lines = 1 + max(len(text or "") for text in (base, current, proposed))
    proposal = Proposal(
        path=rest.path,
        base=base,
        current=current,
        proposed=proposed,
        origins=Origins(_expanded(rest.lines, max_lines), _expanded(rest.gaps, max_lines)),
        new_path=rest.new_path,
        file_origin=rest.file_origin,
        decided=rest.decided,
        raw=Raw(bytes.fromhex(data) if data is not None else None, rest.mode, rest.bom),
    )
    proposal.know(_proposal_texts, ProposalTexts(base, current, proposed, data, rest_text))
    return proposal


def raw_data(raw: Raw) -> str | None:
    """The bytes of a file as text: not in base64, where one more byte changes everything after it."""
    return raw.data.hex() if raw.data is not None else None


def _runs(origins: tuple[Origin | None, ...]) -> tuple[tuple[int, Origin | None], ...]:
    """The origins as a count for each series of the same one. There are few: most lines have no origin."""
    starts = [0, *compress(count(1), map(is_not, origins, islice(origins, 1, None)))]
    return tuple((end - start, origins[start]) for start, end in pairwise([*starts, len(origins)]) if end)


def _expanded(runs: tuple[tuple[int, Origin | None], ...], most: int) -> tuple[Origin | None, ...]:
    if sum(max(0, count) for count, _ in runs) > most:  # a damaged count would use up the memory
        raise ValueError("more lines than the text has")
    return tuple(origin for count, origin in runs for origin in [origin] * count)
