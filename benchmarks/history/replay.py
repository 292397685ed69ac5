"""Replays one commit at a time: writes the parent's tree, runs the agent's calls, reviews, and compares the result."""

from __future__ import annotations

import asyncio
import re
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random

from history import keep
from history.editor import POSITION_ENCODINGS, Editor
from history.git import Change, Commit, GitError, Repository, Tree
from history.plan import Call, Job, Plan, plan
from history.recording import write_recording
from history.review import Mismatch, Review, Slowest, kind_of
from history.tree import Difference, Workspace
from support.client import Json, WireError

# limits of a session, unless a single file needs more: calls, and characters of their inputs
MAX_CALLS = 150
MAX_CHARACTERS = 4_000_000
# calls in a round
ROUND = 30
# after this many commits, or bytes of text at four per character, a new server process starts
PROCESS_COMMITS = 8
PROCESS_BYTES = 150_000_000
# in seconds
RUN_DEADLINE = 300.0
# how likely it is that a session has two runs
FOLLOWED_UP = 0.25


@dataclass
class Figures:
    """The results of one source."""

    name: str
    commits: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
    direct: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    log: Counter[str] = field(default_factory=Counter)
    mismatches: list[Json] = field(default_factory=list)
    slowest: Slowest = field(default_factory=Slowest)
    seconds: float = 0.0


@dataclass
class Place:
    """Where and how a replay works: `home` for the workspace and the recording, `kept` for reproductions.

    `units` is the position encoding, None for a random one; `command` replays the same source again.
    """

    home: Path
    kept: Path
    seed: int = 0
    max_files: int = 4000
    units: str | None = None
    command: str = ""


class Replay:
    """The replay of a source's commits, one after the other. Several commits share a server process."""

    def __init__(self, repository: Repository, place: Place, name: str) -> None:
        self.repository = repository
        self.place = place
        self.figures = Figures(name)
        place.home.mkdir(parents=True, exist_ok=True)
        self.workspace = Workspace(place.home.resolve() / "ws")
        self.recording = place.home.resolve() / "commit.replay.yaml"
        self.server_log = place.home.resolve() / "server.log"
        self.editor: Editor | None = None
        self._commits_left = 0
        self._bytes_left = 0

    async def run(self, commits: Iterable[Commit]) -> Figures:
        start = time.perf_counter()
        try:
            for commit in commits:
                await self._commit(commit)
        finally:
            await self._stop()
            self.repository.close()
        self.figures.seconds = time.perf_counter() - start
        unusable = len(self.repository.unusable | self.workspace.absent)
        self.figures.skipped += Counter({"names that no folder can hold": unusable})
        return self.figures

    async def _commit(self, commit: Commit) -> None:
        """Replays one commit. A failure, even one of this tool, does not prevent the replay of the others."""
        run = None
        differences: list[Difference] = []
        try:
            changes = self.repository.changes(commit)
            if len(changes) > self.place.max_files:
                self.figures.skipped[f"more than {self.place.max_files} files"] += 1
                return
            before, after = self.repository.tree(commit.parent), self.repository.tree(commit.id)
            rng = Random(f"{self.place.seed}:{commit.id}")
            run = _Commit(self, commit, plan(changes, self.repository.blob, rng), after, rng)
            self.workspace.become(before, self.repository.blob)
            await run.replay()
            differences = self.workspace.differences(after, touched(changes), self.repository.blob)
            if differences:
                raise Mismatch(f"{differences[0].path!r} {differences[0].what}")
        except GitError as error:
            self.figures.skipped[f"Git: {str(error)[:80]}"] += 1
            self.workspace.clear()
            return
        except Exception as error:
            await self._failed(commit, error, differences)
        self.figures.commits += 1
        if run is not None:
            self.figures.kinds += run.made.kinds
            self.figures.direct += run.made.direct

    async def start(self, rng: Random) -> Editor:
        """The editor with the current server process, or with a new one after enough commits or bytes."""
        if self.editor is not None and (self._commits_left <= 0 or self._bytes_left <= 0):
            await self._stop()
        if self.editor is None:
            state = self.place.home.resolve() / "state"
            env = {f"XDG_{kind}_HOME": str(state / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
            settings = {
                "replay": str(self.recording),
                "plan": {"maxItems": 1000},
                "loop": {"maxRounds": 100_000, "maxRepeats": 100_000},
            }
            by_chance = Random(f"{self.place.seed}:{self.figures.commits}").choice(POSITION_ENCODINGS)
            units = self.place.units or by_chance
            self.editor = Editor(self.workspace.root, units, env, settings, self.server_log)
            await self.editor.__aenter__()
            self._commits_left, self._bytes_left = PROCESS_COMMITS, PROCESS_BYTES
        self._commits_left -= 1
        self.editor.begin_commit(rng)
        return self.editor

    def used(self, size: int) -> None:
        self._bytes_left -= size

    async def _stop(self, broken: bool = False) -> None:
        editor, self.editor = self.editor, None
        if editor is None:
            return
        problems: list[str] = []
        try:
            await editor.__aexit__(ConnectionError if broken else None, None, None)
        except (AssertionError, ConnectionError, TimeoutError, WireError) as error:
            problems.append(f"the server did not end well ({error!r}), its exit code is {editor.process.returncode}")
        log = self.server_log.read_text(encoding="utf-8", errors="replace")
        self.server_log.unlink()
        complaints = re.findall(r"^\S+ \S+ (WARNING|ERROR|CRITICAL) ([\w.]+): (.*)", log, re.MULTILINE)
        self.figures.log.update(f"{level} {logger}: {text[:60]}" for level, logger, text in complaints)
        if any(level != "WARNING" for level, _, _ in complaints) or "Traceback (most recent call last)" in log:
            problems.append("the server's log contains a fault")
        for number, what in enumerate(problems):
            kept = keep.log(self.place.kept, f"{self.figures.name}-{self.figures.commits}-{number}", log)
            self.figures.mismatches.append({"commit": "", "what": what, "kept": str(kept)})
            print(f"MISMATCH {self.figures.name}: {what}\n  kept in {kept}", flush=True)

    async def _failed(self, commit: Commit, error: Exception, differences: Sequence[Difference]) -> None:
        """Saves a reproduction, then starts again with a new process and an empty folder."""
        units = ["--units", self.editor.units] if self.editor is not None else []
        facts: Json = {
            "commit": commit.id,
            "parent": commit.parent,
            "seed": self.place.seed,
            "again": " ".join([self.place.command, "--commit", commit.id, *units]).strip(),
            "what": f"{type(error).__name__}: {error}",
            "where": traceback.format_tb(error.__traceback__)[-4:],
        }
        kept = keep.reproduction(self.place.kept, facts, error, differences, self)
        what = str(error) if isinstance(error, Mismatch) else facts["what"]
        self.figures.mismatches.append({"commit": commit.id, "what": what, "kept": str(kept)})
        print(f"MISMATCH {self.figures.name} {commit.id}: {what}\n  kept in {kept}", flush=True)
        await self._stop(broken=True)
        self.workspace.clear()


class _Commit:
    """The replay of one commit."""

    def __init__(self, replay: Replay, commit: Commit, made: Plan, after: Tree, rng: Random) -> None:
        self.owner = replay
        self.commit = commit
        self.made = made
        self.after = after
        self.rng = rng
        self.workspace = replay.workspace
        self.figures = replay.figures

    async def replay(self) -> None:
        for change in self.made.before:
            self.workspace.remove(change.path)
        for stage in self.made.stages:
            for jobs in _batches(stage):
                await self._batch(jobs)
            self.workspace.prune()
        for change in self.made.after:
            self._put(change)
        for change in self.made.modes:
            assert change.new is not None
            self.workspace.set_mode(change.new_path, change.new)

    def _put(self, change: Change) -> None:
        assert change.new is not None
        if change.new_path in self.after:
            self.workspace.put(change.new_path, change.new, self.owner.repository.blob(change.new))

    async def _batch(self, jobs: list[Job]) -> None:
        """Replays some files in a separate session: a run with the calls, then the review; sometimes in two parts."""
        ends = self._phases(jobs)
        runs = [
            self._rounds([job.calls[start:end] for job, start, end in zip(jobs, *span, strict=True)])
            for span in pairwise(ends)
        ]
        write_recording(self.owner.recording, runs)
        self.owner.used(sum(len(job.text or "") for job in jobs) * 4)
        editor = await self.owner.start(self.rng)
        self._open_some(editor, jobs)
        session = (await editor.request("agent/sessions/create", {"title": self.commit.id[:12]}))["sessionId"]
        refused: list[Job] = []
        for number, (rounds, counts) in enumerate(zip(runs, ends[1:], strict=True), 1):
            await self._run(editor, session, rounds)
            refused += self._refused(editor, [job for job in jobs if job not in refused], rounds)
            if self.rng.random() < 0.3:
                self._open_some(editor, jobs)
            proposed: dict[Path, Job] = {}
            for job, count in zip(jobs, counts, strict=True):
                left = None if job in refused else _left(editor, job.proposed_after(count))
                if left is not None:
                    proposed[self.workspace.root / (left.path or left.new_path or "")] = left
            review = Review(editor, session, proposed, self.rng, self.figures.decisions, self.figures.slowest)
            await review.run(to_the_end=number == len(runs))
        editor.close_all()
        for job in refused:
            self._directly(job)

    def _phases(self, jobs: Sequence[Job]) -> list[list[int]]:
        """How many of each job's calls have been made at first and after each run, from none to all of them."""
        whole = [len(job.calls) for job in jobs]
        begun = [] if self.rng.random() > FOLLOWED_UP else [[self.rng.randint(0, count) for count in whole]]
        if any(job.typed is not None for job in jobs):
            begun = []
        return [[0] * len(jobs), *begun, whole]

    async def _run(self, editor: Editor, session: str, rounds: Sequence[Sequence[Call]]) -> None:
        start = time.perf_counter()
        result = await editor.run(f"Make {self.commit.id}", RUN_DEADLINE, sessionId=session)
        self.figures.slowest.note((time.perf_counter() - start) / max(1, len(rounds)), "a round of calls")
        if result["stopReason"] != "end_turn":
            raise Mismatch(f"the run ended with {result['stopReason']}: {result['error'] or result['message']}")

    def _rounds(self, files: Sequence[Sequence[Call]]) -> list[list[Call]]:
        """The calls in rounds, file by file or mixed. Sometimes each round begins with an update of the plan."""
        queues = [list(calls) for calls in files if calls]
        mixed = self.rng.random() < 0.4
        calls: list[Call] = []
        while queues:
            queue = self.rng.choice(queues) if mixed else queues[0]
            calls.append(queue.pop(0))
            queues = [queue for queue in queues if queue]
        rounds = [calls[index : index + ROUND] for index in range(0, len(calls), ROUND)]
        if self.rng.random() < 0.4:
            for number, one in enumerate(rounds):
                one.insert(0, _todo(number, len(rounds)))
        for call in (call for one in rounds for call in one):
            self.figures.calls.update(call.keys())
        return rounds

    def _open_some(self, editor: Editor, jobs: Sequence[Job]) -> None:
        """Sometimes opens some of the files in the editor, as a user might."""
        if self.rng.random() > 0.4:
            return
        for job in self.rng.sample(list(jobs), min(len(jobs), 20)):
            if job.path is not None and self.rng.random() < 0.6:
                editor.open_file(self.workspace.root / job.path, job.text or "")

    def _refused(self, editor: Editor, jobs: Sequence[Job], rounds: Sequence[Sequence[Call]]) -> list[Job]:
        """Checks the answers to the last calls. Returns the jobs that were refused, as they may be, or have no calls.

        Raises:
            Mismatch: An answer is missing, or a call was refused that must not be.
        """
        count = len([call for one in rounds for call in one])
        started = {event["toolCallId"]: event for event in editor.events("tool_started")}
        finished = editor.events("tool_finished")[-count:] if count else []
        if len(finished) != count:
            raise Mismatch(f"{count} calls had {len(finished)} answers")
        wrong = [(started[event["toolCallId"]], event["text"]) for event in finished if event["isError"]]
        found: list[Job] = []
        for job in jobs:
            inputs = [given for call in job.calls for given in call.values()]
            answers = [text for event, text in wrong if event["input"] in inputs]
            if answers and (len(answers) < len(job.calls) or not job.refusable):
                path = self.workspace.root / job.names[0]
                raise Mismatch(f"{job.names[0]!r} ({kind_of(job)}): a call was refused: {answers[0]}", path)
            if answers:
                self.figures.refused[job.refusable] += 1
            if answers or not job.calls:
                found.append(job)
        return found

    def _directly(self, job: Job) -> None:
        """Makes the change of a refused job without the agent."""
        if job.path is not None:
            self.workspace.remove(job.path)
        if job.new_path is not None:
            self._put(job.change)


def _left(editor: Editor, job: Job | None) -> Job | None:
    """The remaining part of a job after earlier accepts, None if nothing remains."""
    if job is None:
        return None
    path, new_path = (editor.root / name if name is not None else None for name in (job.path, job.new_path))
    there = [name is not None and editor.content(name) is not None for name in (path, new_path)]
    if new_path is None:
        return job if there[0] else None
    if not there[0] and there[1]:
        job = replace(job, path=job.new_path)
    settled = job.text is None or editor.content(new_path) == job.text_format.encode(job.text)
    return None if job.path == job.new_path and settled else job


def _batches(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """The jobs in portions, because every state of the proposals is sent whole, and real sessions are small."""
    batch: list[Job] = []
    calls = size = 0
    for job in jobs:
        own = sum(len(str(given)) for call in job.calls for given in call.values())
        if batch and (calls + len(job.calls) > MAX_CALLS or size + own > MAX_CHARACTERS):
            yield batch
            batch, calls, size = [], 0, 0
        batch.append(job)
        calls += len(job.calls)
        size += own
    if batch:
        yield batch


def _todo(current: int, count: int) -> Call:
    """The plan, with one step for each round."""
    items: list[Json] = []
    for number in range(count):
        status = "completed" if number < current else "in_progress" if number == current else "pending"
        item: Json = {"content": f"Step {number + 1}", "status": status, "activeForm": f"On step {number + 1}"}
        items.append({"id": str(number + 1), **item} if current else item)
    return {"todo": {"items": items}}


def touched(changes: Iterable[Change]) -> set[str]:
    return {name for change in changes for name in (change.path, change.new_path)}


async def replay(repository: Repository, place: Place, name: str, commits: Iterable[Commit]) -> Figures:
    return await Replay(repository, place, name).run(commits)


def run(repository: Repository, place: Place, name: str, commits: Iterable[Commit]) -> Figures:
    """Replays commits, oldest first. Failures are in the figures."""
    return asyncio.run(replay(repository, place, name, commits))
