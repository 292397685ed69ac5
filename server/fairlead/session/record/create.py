"""Creates the record of a session."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from fairlead import __version__
from fairlead.edits import selection
from fairlead.edits.review_outcomes import hunk_outcomes
from fairlead.messages.parts import Prompt
from fairlead.plan.evidence import BEFORE, UNPLANNED, CommandRun, Evidence, ServerCall
from fairlead.plan.inputs import Inputs
from fairlead.plan.items import PlanItem
from fairlead.session.evidence.known_files import ABSENT, EXECUTABLE
from fairlead.session.record.document import (
    FORMAT,
    Change,
    ChangesCost,
    FileContent,
    KnownFile,
    Need,
    PlannedItem,
    PlanVersion,
    RanCommand,
    SessionRecord,
    Step,
    ToolCall,
    Verification,
    Work,
    WorkOutside,
)
from fairlead.session.report.change_costs import cost_by_decision, cost_of
from fairlead.session.report.summary import all_steps
from fairlead.session.session import Session

_DIGEST_LENGTH = 64


async def create_record(session: Session) -> SessionRecord:
    """The record of a session, with the files as they are on disk now.

    No digest of a file that looks like a secret is included, because it would confirm a guess of the content. Such a
    file is missing from `files` and `differs`; other fields may name it.
    """
    await session.compare_files()
    session.evidence.known_files.refresh()
    return _Creator(session).record()


class _Creator:
    """Creates the parts of a session's record."""

    def __init__(self, session: Session) -> None:
        self._state, self._roots, self._support_by_item = (
            session.snapshot(),
            session.roots,
            session.evidence.support_by_item,
        )
        self._weakened, self._needed = session.weakened(), session.evidence.needed_changes.now()
        self._known, self._on_disk = session.evidence.known_files, session.evidence.known_files.on_disk()
        self._is_secret = is_secret = session.files.secret_filter()
        # the folder of a file that the session knows may have been removed from the workspace
        names = {path: self._name(path) for path in self._on_disk if self._roots.contains(Path(path))}
        self._files = {path: name for path, name in names.items() if not is_secret(name)}

    def record(self) -> SessionRecord:
        state = self._state
        work = self._work(state.record.by_step.values())
        return SessionRecord(
            format=FORMAT,
            fairlead=__version__,
            title=state.title,
            state=state.phase,
            updated_at=datetime.fromtimestamp(state.updated, UTC).isoformat(timespec="seconds"),
            prompts=tuple(
                part.said for message in state.messages for part in message.parts if isinstance(part, Prompt)
            ),
            models=state.models,
            seconds=work.seconds,
            tokens=work.tokens,
            cost_usd=work.cost_usd,
            plan=tuple(self._plan()),
            steps=tuple(self._steps()),
            outside=tuple(
                WorkOutside(name, self._work([state.record.of(name)]))
                for name in (BEFORE, UNPLANNED)
                if not state.record.of(name).empty
            ),
            changes=tuple(self._changes()),
            costs=tuple(
                ChangesCost(decision, found.changes, round(found.cost.tokens), found.cost.usd)
                for decision, found in cost_by_decision(state).items()
            ),
            verifications=tuple(self._verifications()),
            files=tuple(sorted(self._known_files(), key=lambda file: file.path)),
        )

    def _plan(self) -> Iterator[PlanVersion]:
        for version in self._state.versions:
            items = tuple(map(_planned_item, version.items))
            yield PlanVersion(version.revision, version.by, version.summary, version.reason, items)

    def _steps(self) -> Iterator[Step]:
        state, items = self._state, all_steps(self._state.plan.items, self._state.versions)
        planned = {item.id for item in state.plan.items}
        found = self._support_by_item(items)
        for item in items:
            support = found[item.id]
            yield Step(
                id=item.id,
                content=item.content,
                status=item.status,
                dropped=item.id not in planned,
                check=item.check,
                verification=support.status,
                decided_by=support.command,
                changed_since=self._names(support.changed),
                work=self._work([state.record.of(item.id)]),
            )

    def _work(self, evidence: Iterable[Evidence]) -> Work:
        parts = list(evidence)
        cost = cost_of(parts)
        return Work(
            files=self._names(dict.fromkeys(path for part in parts for path in part.files)),
            commands=tuple(_ran_command(run) for part in parts for run in part.commands),
            looks=sum(part.looks for part in parts),
            seconds=round(sum(part.seconds for part in parts), 3),
            tokens=round(cost.tokens),
            cost_usd=cost.usd,
            calls=tuple(_tool_call(call) for part in parts for call in part.calls),
        )

    def _changes(self) -> Iterator[Change]:
        needs = self._needs()
        for outcome in hunk_outcomes(self._state.changes, self._state.decisions):
            if not self._roots.contains(Path(outcome.path)):
                continue
            new_path = self._name(outcome.new_path) if outcome.new_path is not None else None
            key = outcome.hunk.id if outcome.hunk is not None else None
            weakens = self._weakened.get(outcome.path, {}).get(key, ()) if outcome.outcome == "review" else ()
            yield Change(
                self._name(outcome.path),
                new_path,
                outcome.item_id,
                outcome.outcome,
                outcome.hunk,
                tuple(map(str, weakens)),
                needs.get(selection.Change(outcome.path, key)) if outcome.outcome == "review" else None,
            )

    def _needs(self) -> Mapping[selection.Change, Need]:
        found = self._needed
        if found is None:
            return {}
        return {
            **dict.fromkeys(found.needed, "needed"),
            **dict.fromkeys(found.not_needed, "notNeeded"),
            **dict.fromkeys(found.unread, "unread"),
        }

    def _verifications(self) -> Iterator[Verification]:
        """For each verifying command, its last run that was not stopped; in the order of these runs."""
        runs = [(step, run) for step, part in self._state.record.by_step.items() for run in part.commands]
        results = ((run.state, step, run) for step, run in runs if run.verified and not run.stopped)
        last: dict[str, tuple[int, str, CommandRun]] = {}
        for state, step, run in results:
            command = run.command.strip()
            if state is not None and (command not in last or last[command][0] < state):
                last[command] = state, step, run
        for command, (state, step, run) in sorted(last.items(), key=lambda item: item[1][0]):
            proves = run.exit_code == 0 and not run.leftovers and self._failed_without_changes(command, state)
            yield Verification(
                command,
                run.exit_code,
                round(run.seconds, 3),
                step,
                proves,
                self._changed_since(state, run.inputs),
                self._names(run.leftovers),
                self._reads(run.inputs),
            )

    def _reads(self, inputs: Inputs | None) -> tuple[str, ...] | None:
        names = None if inputs is None else self._names(inputs.files)
        return None if names is None else tuple(sorted(name for name in names if not self._is_secret(name)))

    def _failed_without_changes(self, command: str, state: int) -> bool:
        """Whether a command failed when it last ran without the proposals.

        Counts only runs with an exit code, and only if the known files, with the proposals, were then as in `state`.
        """
        runs_without = ((run.without_changes, run) for run in self._state.record.runs() if run.exit_code is not None)
        runs_of_command = [
            (at, run.exit_code) for at, run in runs_without if at is not None and run.command.strip() == command
        ]
        then = self._digests(state)
        on_same_files = [(at, code) for at, code in runs_of_command if self._digests(at) == then]
        return bool(on_same_files) and max(on_same_files, key=lambda found: found[0])[1] != 0

    def _digests(self, state: int) -> Mapping[str, str]:
        """The digests of the known files at a state, by path."""
        return dict(self._known.states.at(state))

    def _changed_since(self, state: int, inputs: Inputs | None) -> Mapping[str, FileContent | None]:
        """The content that each file had in a state, by name, if it is different on disk now; None: no file.

        Args:
            inputs: what counts (`KnownFiles.changed_since`).
        """
        then = self._digests(state)
        changed = [path for path in self._files if then[path] != self._on_disk[path]]
        if inputs is not None:
            changed = self._known.that_count(changed, state, inputs, self._on_disk)
        return {self._files[path]: _file_content(then[path]) for path in changed}

    def _known_files(self) -> Iterator[KnownFile]:
        first = self._known.states.first
        for path, name in self._files.items():
            yield KnownFile(name, _file_content(first[path]), _file_content(self._on_disk[path]))

    def _names(self, paths: Iterable[str]) -> tuple[str, ...]:
        inside = (path for path in paths if self._roots.contains(Path(path)))
        return tuple(map(self._name, inside))

    def _name(self, path: str) -> str:
        return self._roots.relative(Path(path))


def _file_content(digest: str) -> FileContent | None:
    if digest == ABSENT:
        return None
    sha256 = digest.removesuffix(EXECUTABLE)
    # the digest of a file that cannot be read consists of its size and time
    return FileContent(sha256 if len(sha256) == _DIGEST_LENGTH else None, digest.endswith(EXECUTABLE))


def _planned_item(item: PlanItem) -> PlannedItem:
    return PlannedItem(item.id, item.content, item.status, item.check, item.held, item.marked)


def _tool_call(call: ServerCall) -> ToolCall:
    return ToolCall(
        call.server, call.tool, call.outcome, round(call.seconds, 3), call.has_effects_outside, call.arguments
    )


def _ran_command(run: CommandRun) -> RanCommand:
    ran_without_changes = run.without_changes is not None
    return RanCommand(
        run.command,
        run.exit_code,
        round(run.seconds, 3),
        run.stopped,
        bool(run.verified),
        ran_without_changes,
        run.with_tests,
    )
