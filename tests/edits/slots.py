"""A model of one file's review in which the right result is obvious: numbered slots, each with its own state.

A slot contains any number of lines, between frame lines that nobody changes. So a change in one slot never touches
another, and each is decided separately. This model uses no code of the engine.
"""

from dataclasses import dataclass, replace
from typing import Literal

Content = tuple[str, ...]
Kind = Literal["accept", "reject", "amend"]

# the number of lines in each variant of a slot's content; no two variants have a line in common
LINES = (0, 1, 2, 1)


class Refused(Exception):
    """The step cannot be undone or redone."""


def content(number: int, variant: int) -> Content:
    """The lines of a slot: none, one or two."""
    return tuple(f"slot {number}, variant {variant}, line {line}\n" for line in range(LINES[variant]))


@dataclass(frozen=True)
class Slot:
    """The lines that the user and the agent started from, the lines that the user has, and those that are proposed."""

    base: Content
    mine: Content
    proposed: Content

    @property
    def state(self) -> Literal["pending", "conflict"] | None:
        """None: nothing is proposed here."""
        if self.base == self.proposed:
            return None
        return "pending" if self.mine == self.base else "conflict"

    def settled(self) -> "Slot":
        """The user's lines become the base if they differ from it and the agent proposes no other change."""
        if self.mine != self.base and self.proposed in (self.base, self.mine):
            return Slot(self.mine, self.mine, self.mine)
        return self


Slots = tuple[Slot, ...]


@dataclass(frozen=True)
class Step:
    """A decision, and the slots before and after it."""

    kind: Kind
    before: Slots
    after: Slots

    def inverse(self) -> "Step":
        return replace(self, before=self.after, after=self.before)


class Model:
    """One file and its decisions. `done` can be undone, `undone` can be redone."""

    def __init__(self, start: list[int]) -> None:
        contents = [content(number, variant) for number, variant in enumerate(start)]
        self.slots: Slots = tuple(Slot(each, each, each) for each in contents)
        self.done: list[Step] = []
        self.undone: list[Step] = []

    def text(self, which: Literal["base", "mine", "proposed"]) -> str:
        parts = ["frame\n"]
        for number, slot in enumerate(self.slots):
            parts += [*getattr(slot, which), f"frame {number}\n"]
        return "".join(parts)

    def states(self) -> dict[int, str]:
        """The state of each slot in which something is proposed, in order."""
        return {number: slot.state for number, slot in enumerate(self.slots) if slot.state is not None}

    def type(self, number: int, new: Content) -> None:
        self._put(number, mine=new)

    def propose(self, number: int, new: Content) -> None:
        self._put(number, proposed=new)

    def amend(self, number: int, new: Content) -> None:
        before = self.slots
        self._put(number, proposed=new)
        self._decided("amend", before)

    def accept(self, numbers: set[int], overwrite_user_lines: bool) -> None:
        """Accepts conflicts only with `overwrite_user_lines`."""
        before = self.slots
        taken = {
            n for n, state in self.states().items() if n in numbers and (overwrite_user_lines or state == "pending")
        }
        self._set({n: Slot(*[self.slots[n].proposed] * 3) for n in taken})
        if taken:
            self._decided("accept", before)

    def reject(self, numbers: set[int]) -> None:
        """The user's text does not change."""
        before = self.slots
        taken = numbers & self.states().keys()
        self._set({n: replace(self.slots[n], proposed=self.slots[n].base) for n in taken})
        if taken:
            self._decided("reject", before)

    def undo(self) -> None:
        step = self.done[-1]
        self.slots = step.before if _is_restored(step, self.slots) else _undone(step, self.slots)
        self.undone.append(self.done.pop())

    def redo(self) -> None:
        step = self.undone[-1]
        self.slots = _undone(step.inverse(), self.slots)
        self.done.append(self.undone.pop())

    def _put(self, number: int, **sides: Content) -> None:
        self._set({number: replace(self.slots[number], **sides)})

    def _set(self, slots: dict[int, Slot]) -> None:
        self.slots = tuple(slots.get(number, slot).settled() for number, slot in enumerate(self.slots))

    def _decided(self, kind: Kind, before: Slots) -> None:
        self.done.append(Step(kind, before, self.slots))
        self.undone.clear()


def _undone(step: Step, now: Slots) -> Slots:
    """The slots after a step is undone. Later changes to other slots stay; those to the step's slots prevent the undo.

    Raises:
        Refused: the user's file changed after an accept, or a slot that the step changed has changed again.
    """
    if step.kind == "accept" and any(a.mine != b.mine for a, b in zip(now, step.after, strict=True)):
        raise Refused
    found: list[Slot] = []
    for before, after, slot in zip(step.before, step.after, now, strict=True):
        mine = before.mine if step.kind == "accept" else slot.mine
        base = _back(before.base, after.base, slot.base)
        found.append(Slot(base, mine, _back(before.proposed, after.proposed, slot.proposed)).settled())
    return tuple(found)


def _is_restored(step: Step, now: Slots) -> bool:
    """Whether the user has undone an accept in their file, and nothing else has changed since."""
    if step.kind != "accept":
        return False
    slots = list(zip(step.before, step.after, now, strict=True))
    return any(before.mine != after.mine for before, after, _ in slots) and all(
        slot == (after if before.mine == after.mine else Slot(before.mine, before.mine, before.mine))
        for before, after, slot in slots
    )


def _back(before: Content, after: Content, now: Content) -> Content:
    if after == before or now == before:
        return now
    if now != after:
        raise Refused
    return before
