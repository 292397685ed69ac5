"""`python benchmarks/history/run.py`: replays commits of repositories and pairs of folders on the real server.

    --repo PATH          a Git repository; may be given again
    --pair OLD NEW       two versions of a folder as one commit; may be given again
    --pairs FILE         a list of such pairs: on each line two paths with a tab between them
    --commits N          only the newest N commits of each repository
    --commit ID          only this commit, such as one that a reproduction names
    --first-parent       the first parents with their merges, instead of all commits without merges
    --seed S             another seed of the random choices
    --units ENCODING     the position encoding (utf-8, utf-16, utf-32; default: random); reproductions name it
    --max-files N        skips commits that change more files
    --keep DIR           where reproductions of mismatches are written (default: a new temporary folder)
    --json FILE          writes the figures

The exit code is 1 if there is a mismatch, 2 if a source could not be read.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from history.editor import POSITION_ENCODINGS
from history.git import Commit, GitError, Repository, repository_of
from history.replay import Figures, Place, run


def main() -> int:
    given = _arguments()
    os.umask(0o022)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the temporary folders are deleted then too
    home = Path(tempfile.mkdtemp(prefix="fairlead-history-"))
    kept = given.keep or Path(tempfile.mkdtemp(prefix="fairlead-mismatches-"))
    base = [sys.executable, str(Path(__file__).resolve()), "--seed", str(given.seed)]
    base += ["--max-files", str(given.max_files)]
    found: list[Figures] = []
    broken = 0
    try:
        for number, (name, arguments) in enumerate(_sources(given)):
            again = shlex.join([*base, *arguments])
            place = Place(home / str(number), kept, given.seed, given.max_files, given.units, again)
            try:
                repository = _repository(arguments, home / f"{number}.git")
                commits = _commits(repository, given, pair=arguments[0] == "--pair")
            except (GitError, OSError, ValueError) as error:
                print(f"{name}: cannot be read: {error}", flush=True)
                broken += 1
                continue
            figures = run(repository, place, name, commits)
            print(report(figures), flush=True)
            found.append(figures)
            shutil.rmtree(place.home, ignore_errors=True)
            shutil.rmtree(home / f"{number}.git", ignore_errors=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)
        if not given.keep and not any(kept.iterdir()):
            kept.rmdir()
    total = _total(found)
    if len(found) != 1:
        print(report(total))
    if given.json:
        whole = {"sources": [_facts(one) for one in found], "total": _facts(total), "unreadable": broken}
        given.json.write_text(json.dumps(whole, indent=2), encoding="utf-8")
    return 1 if total.mismatches else 2 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, action="append", default=[])
    parser.add_argument("--pair", type=Path, nargs=2, action="append", default=[])
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--commits", type=int)
    parser.add_argument("--commit")
    parser.add_argument("--first-parent", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--units", choices=sorted(set(POSITION_ENCODINGS)))
    parser.add_argument("--max-files", type=int, default=4000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if not (given.repo or given.pair or given.pairs):
        parser.error("give at least one of --repo, --pair and --pairs")
    return given


def _sources(given: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Each source's name, and the arguments that select only it."""
    for repo in given.repo:
        yield str(repo), ["--repo", str(repo.resolve()), *(["--first-parent"] if given.first_parent else [])]
    pairs = [tuple(map(str, pair)) for pair in given.pair]
    if given.pairs:
        rows = given.pairs.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        pairs += [(old, new) for old, _, new in (row.partition("\t") for row in rows if row.strip())]
    for old, new in pairs:
        yield f"{old} .. {new}", ["--pair", os.path.abspath(old), os.path.abspath(new)]


def _repository(arguments: list[str], where: Path) -> Repository:
    if arguments[0] == "--pair":
        return repository_of([Path(arguments[1]), Path(arguments[2])], where)
    return Repository(Path(arguments[1]))


def _commits(repository: Repository, given: argparse.Namespace, pair: bool) -> list[Commit]:
    if pair:
        return [repository.commit("HEAD")]
    if given.commit:
        return [repository.commit(given.commit)]
    return repository.commits(given.commits, given.first_parent)


def report(figures: Figures) -> str:
    """The figures of a source as text."""
    hunks = figures.decisions["hunks accepted"]
    lines = [
        f"{figures.name}: {figures.commits} commits, {sum(figures.calls.values())} calls, {hunks} hunks accepted, "
        f"{figures.decisions['undos']} undos, {len(figures.mismatches)} MISMATCHES, {figures.seconds:.1f} s"
    ]
    rows = {
        "files": figures.kinds,
        "calls": figures.calls,
        "decisions": figures.decisions,
        "without the agent": figures.direct,
        "refused by the server": figures.refused,
        "skipped": figures.skipped,
        "in the server's log": figures.log,
    }
    lines += [f"  {name}: {_counts(counts)}" for name, counts in rows.items() if counts]
    if figures.slowest.what:
        lines.append(f"  slowest answer: {figures.slowest.what}, {figures.slowest.seconds:.2f} s")
    for one in figures.mismatches:
        lines.append(f"  MISMATCH {one['commit'][:12]}: {one['what']} ({one.get('kept', 'nothing kept')})")
    return "\n".join(lines)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda pair: -pair[1]) if count)


def _total(found: list[Figures]) -> Figures:
    total = Figures(f"all {len(found)} sources")
    for one in found:
        total.commits += one.commits
        total.seconds += one.seconds
        total.mismatches += one.mismatches
        total.slowest.note(one.slowest.seconds, f"{one.slowest.what} ({one.name})")
        for name in ("skipped", "kinds", "calls", "decisions", "direct", "refused", "log"):
            getattr(total, name).update(getattr(one, name))
    return total


def _facts(figures: Figures) -> dict[str, object]:
    facts = {field.name: getattr(figures, field.name) for field in dataclasses.fields(figures)}
    return {**facts, "slowest": dataclasses.asdict(figures.slowest)}


if __name__ == "__main__":
    sys.exit(main())
