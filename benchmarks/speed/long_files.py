"""The cost of proposals in long files. Part of `npm run bench`; this file can also be run alone.

Each file is ten times as long as the one before it. The proposed changes are distributed over the whole file: a hundred
of them, or one in every ten lines. Each figure is the median of a few runs, in ms of processor time. The last column
is the ratio of the last two figures, which should be about ten.
"""

import statistics
import time
from collections.abc import Callable, Sequence

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.match import replace_once
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Proposal
from fairlead.edits.undo import FileDecision, revert

PATH = "/ws/long.py"
CHANGES = 100
LENGTHS = (5_000, 50_000, 500_000)
TIMES = 5
SMALLEST = (1_000, 2_000), 1


def text_of(length: int) -> str:
    """Lines like those of code: some blank, some repeated, most of them unique."""
    kinds = ("\n", "    return None\n", "    value_{n} = compute({n}, other)\n", "def function_{n}(argument):\n")
    return "".join(kinds[n % 4].replace("{n}", str(n)) for n in range(length))


def proposed(length: int, changes: int) -> Changeset:
    text = text_of(length)
    lines = text.splitlines(keepends=True)
    for at in range(2, length, length // changes):
        lines[at] = f"    changed = {at}\n"
    return cs.propose(Changeset(), PATH, text, "".join(lines), Author("1", "call"))


def the(changes: Changeset) -> Proposal:
    """A copy of the proposal without derived values, as the server has it after a call."""
    proposal = changes.files[PATH]
    return Proposal(proposal.path, proposal.base, proposal.current, proposal.proposed, proposal.origins)


def timed(work: Callable[[], object], times: int) -> float:
    found: list[float] = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append((time.process_time() - start) * 1000)
    return statistics.median(found)


def figures(length: int, count: int, times: int) -> dict[str, float]:
    changes = proposed(length, count)
    old = the(changes)
    text = old.proposed or ""
    new = replace_once(text, f"changed = {2 + (length // count) * 50}\n", "changed = 0\nagain = 1\n")
    typed = (old.current or "").replace("    return None\n", "    return None  # typed\n", 1)
    # there may be fewer hunks than changes: if there are very many, adjacent ones are joined
    some = old.hunks[len(old.hunks) // 2].id

    def accept_one() -> Proposal:
        fresh = the(changes)
        return cs.accepted(fresh, cs.regions_to_accept(fresh, [some], overwrite_user_lines=False))

    accepted = accept_one()
    decision = FileDecision(old, accepted, in_file=True)
    works: dict[str, Callable[[], object]] = {
        "match the old text of an edit": lambda: replace_once(text, "changed = 2\n", "changed = 0\n"),
        "propose one more edit": lambda: cs.propose(changes, PATH, None, new, Author("2", "call 2")),
        "derive the hunks": lambda: the(changes).hunks,
        "rebase on a typed line": lambda: the(changes).rebased(typed).hunks,
        "accept one hunk": accept_one,
        "accept all": lambda: cs.accepted(old, cs.regions_to_accept(old, None, overwrite_user_lines=False)),
        "reject one hunk": lambda: cs.rejected(the(changes), [some]),
        "undo an accept": lambda: revert(decision, accepted, accepted.current, "long.py"),
    }
    return {name: timed(work, times) for name, work in works.items()}


def table(count: Callable[[int], int], lengths: Sequence[int], times: int) -> None:
    print(f"  {'lines':<32}" + "".join(f"{length:>11,}" for length in lengths) + "   last ratio")
    all_figures = [figures(length, count(length), times) for length in lengths]
    for name in all_figures[0]:
        values = [figures[name] for figures in all_figures]
        ratio = values[-1] / max(values[-2], 0.01)
        print(f"  {name:<32}" + "".join(f"{value:11.1f}" for value in values) + f"{ratio:13.1f}")


def main(smallest: bool = False) -> None:
    lengths, times = SMALLEST if smallest else (LENGTHS, TIMES)
    print(f"a file with {CHANGES} proposed changes, in ms (median of {times})")
    table(lambda _: CHANGES, lengths, times)
    print(f"a file with a proposed change in every ten lines, in ms (median of {times})")
    table(lambda length: length // 10, lengths, times)


if __name__ == "__main__":
    main()
