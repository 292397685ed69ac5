"""The review of the proposals: a question for each file, or for each change of it."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from acp import schema

from fairlead.acp.client import Client, Option, text_content
from fairlead.acp.diffs import diff_of, diff_of_hunks, in_words
from fairlead.acp.texts import inline, note, plain
from fairlead.acp.updates import agent_text
from fairlead.app.app import App
from fairlead.display import count_of, escape_invisible, escape_to_one_line, shorten
from fairlead.edits.changeset import Changeset
from fairlead.edits.diff import Hunk
from fairlead.edits.proposal import Proposal
from fairlead.edits.selection import Change
from fairlead.session.errors import RequestRefused, Stale
from fairlead.session.review import decisions
from fairlead.session.review.target import HunkOutcome, Target
from fairlead.session.review.weakened import reasons_for
from fairlead.session.session import Session
from fairlead.workspace.protected import risk

ACCEPT, ACCEPT_MORE, REJECT, LEAVE = "accept", "accept_more", "reject", "leave"
MAX_TRIES = 3
"""How often a question is asked again because the proposal changed meanwhile."""
MAX_QUESTIONS = 20
"""If a turn has changed more files than this, there is one question about all of them."""
MAX_LISTED = 100
WEAKENS = ": weakens tests, so it is only accepted alone"
MAX_NAMED = 10
"""How many files and reasons the outcome of a decision names."""
LEFT = "{files} left to review. Write /review to decide, /accept or /reject for all of it."
KINDS: dict[str, schema.ToolKind] = {"create": "edit", "modify": "edit", "delete": "delete", "rename": "move"}


class TurnReview:
    """Asks the user about everything that is undecided."""

    def __init__(self, app: App, session: Session, client: Client, numbers: Iterator[int]) -> None:
        """`numbers`: for the ids of the questions, which must differ within the session."""
        self._app, self._session, self._client, self._numbers = app, session, client, numbers

    async def after_turn(self, before: Changeset) -> None:
        """Asks about what a turn has changed: about each file, or about all of them if they are many.

        Args:
            before: the proposals before the turn.
        """
        await self._observe()
        paths = [path for path in self._paths() if self._is_new(path, before)]
        if len(paths) > MAX_QUESTIONS:
            await self._ask_about_all(paths)
        else:
            await self._ask_about_files(paths)

    async def of_everything(self, *, by_hunk: bool) -> None:
        """Asks about each file that is undecided, or about each change of it."""
        await self._observe()
        await self._ask_about_files(self._paths(), by_hunk=by_hunk)

    def has_changed(self, before: Changeset) -> bool:
        """Whether something else is proposed than before a turn."""
        return any(self._is_new(path, before) for path in self._paths())

    async def _observe(self) -> None:
        await self._session.files.observe_all()
        self._session.publish()

    async def _ask_about_files(self, paths: Sequence[Path], *, by_hunk: bool = False) -> None:
        """Asks about files one by one. What is not answered stays undecided."""
        try:
            for path in paths:
                await self._ask_about_file(path, by_hunk=by_hunk)
        finally:  # the client may cancel the questions
            if paths:
                self.say_left()

    async def _ask_about_file(self, path: Path, *, by_hunk: bool) -> None:
        """Asks about a file, again if its proposal has changed meanwhile."""
        for _ in range(MAX_TRIES):
            proposal = self._session.files.proposal(path)
            if proposal is None:
                return
            with contextlib.suppress(Stale):
                ask = self._ask_about_hunks if by_hunk and proposal.hunks else self._ask_about_whole
                await ask(proposal)
                return

    async def _ask_about_all(self, paths: Sequence[Path]) -> None:
        """Asks once about many files."""
        proposals = [each for path in paths if (each := self._session.files.proposal(path)) is not None]
        version = self._session.files.version
        weakened = self._session.weakened()
        lines = [
            f"- {inline(self._name(each.target))} ({_counts(each)})" + WEAKENS * (each.path in weakened)
            for each in proposals[:MAX_LISTED]
        ]
        more = len(proposals) - len(lines)
        lines += [f"- and {count_of(more, 'more file')}"] if more else []
        call = schema.ToolCallUpdate(
            tool_call_id=f"review-{next(self._numbers)}",
            title=f"Review {len(proposals)} files",
            kind="edit",
            status="pending",
            content=[*text_content("\n".join(lines))],
            locations=[schema.ToolCallLocation(path=plain(each.target)) for each in proposals[:MAX_LISTED]],
        )
        self._begin(call)
        options = [
            Option(LEAVE, "Decide later, file by file", "reject_once"),
            Option(ACCEPT, f"Accept all {len(proposals)} files", "allow_once"),
            Option(REJECT, f"Reject all {len(proposals)} files", "reject_always"),
        ]
        answer = await self._client.choose(self._session.id, call, options)
        target = Target(tuple(Change(each.path) for each in proposals), is_selection=True)
        with contextlib.suppress(Stale):  # it is said, and the files stay undecided
            await self._decide(call, answer, target, target, version, overwrite=False)
        self.say_left()

    def say_left(self) -> None:
        """Says how many files are left to review, if there are any."""
        left = len(self._session.files.changes)
        if left:
            self._say(LEFT.format(files=count_of(left, "file")))

    def _is_new(self, path: Path, before: Changeset) -> bool:
        """Whether something else is proposed for a file than earlier."""
        now, old = self._session.files.changes.get(str(path)), before.get(str(path))
        if now is None or old is None:
            return True
        return (now.proposed, now.target, now.raw) != (old.proposed, old.target, old.raw)

    def _paths(self) -> list[Path]:
        """The proposed files: those that need a closer look first, then by folder."""
        protected = self._session.protected()

        def place(proposal: Proposal) -> tuple[bool, str]:
            names = [PurePath(self._name(path)) for path in (proposal.path, proposal.target)]
            is_ordinary = risk(proposal.kind, *names) is None and proposal.path not in protected
            return is_ordinary, str(PurePath(proposal.path).parent) if is_ordinary else ""

        changes = self._session.files.changes
        found = [changes.files[path] for path in changes.in_first_order]
        return [Path(proposal.path) for proposal in sorted(found, key=place)]

    async def _ask_about_whole(self, proposal: Proposal) -> None:
        """Asks about a file."""
        version, name = self._session.files.version, inline(self._name(proposal.path))
        diff, words = diff_of(proposal), self._with_reasons(in_words(proposal, self._session.roots), proposal, None)
        more, more_target = self._wider_target(proposal)
        options = [
            Option(LEAVE, "Decide later", "reject_once"),
            Option(ACCEPT, "Replace mine" if proposal.in_conflict else "Accept", "allow_once"),
            *([Option(ACCEPT_MORE, more, "allow_always")] if more else []),
            Option(REJECT, "Keep mine" if proposal.in_conflict else "Reject", "reject_always"),
        ]
        title = f"Review {name} ({_counts(proposal)})" if diff is not None else f"Review {name}"
        call = self._announce(title, KINDS[proposal.kind], proposal, [diff] if diff else [], words)
        answer = await self._client.choose(self._session.id, call, options)
        target = Target((Change(proposal.path),))
        await self._decide(call, answer, target, more_target, version, overwrite=proposal.in_conflict)

    def _wider_target(self, proposal: Proposal) -> tuple[str, Target]:
        """What else can be accepted at once: the proposals of the file's step, else all; empty if there is nothing."""
        changes = self._session.files.changes
        for item in self._session.plan.snapshot().items:
            files = sum(item.id in each.item_ids for each in changes)
            if item.id in proposal.item_ids and files > 1:
                step = f"the step “{shorten(item.content, 60)}” ({count_of(files, 'file')})"
                return f"Accept all of {step}", Target(item_id=item.id)
        return (f"Accept all {len(changes)} files" if len(changes) > 1 else ""), Target()

    async def _ask_about_hunks(self, proposal: Proposal) -> None:
        """Asks about each change of a file that is still proposed when its turn comes."""
        path, asked = Path(proposal.path), set[str]()
        if proposal.decided_as_whole:
            return await self._ask_about_whole(proposal)
        total = len(proposal.hunks)
        while (now := self._session.files.proposal(path)) is not None:
            hunk = next((each for each in now.hunks if each.id not in asked), None)
            if hunk is None:
                return None
            asked.add(hunk.id)
            await self._ask_about_hunk(now, hunk, f"{len(asked)} of {total}")
        return None

    async def _ask_about_hunk(self, proposal: Proposal, hunk: Hunk, number: str) -> None:
        version, conflict = self._session.files.version, proposal.conflicts.get(hunk.id)
        diff = diff_of_hunks(proposal, [hunk.id])
        words = "You changed the same lines since they were proposed." if conflict is not None else ""
        words = self._with_reasons(words, proposal, hunk.id)
        options = [
            Option(LEAVE, "Decide later", "reject_once"),
            Option(ACCEPT, "Replace mine" if conflict else "Accept", "allow_once"),
            Option(REJECT, "Keep mine" if conflict else "Reject", "reject_always"),
        ]
        title = f"Review {inline(self._name(proposal.path))}, change {number} (+{len(hunk.new)} -{len(hunk.old)})"
        line = hunk.position.new_start
        call = self._announce(title, "edit", proposal, [diff] if diff else [], words, line)
        answer = await self._client.choose(self._session.id, call, options)
        target = Target((Change(proposal.path, hunk.id),))
        await self._decide(call, answer, target, target, version, overwrite=conflict is not None)

    async def _decide(
        self,
        call: schema.ToolCallUpdate,
        answer: str | None,
        target: Target,
        more: Target,
        version: int,
        *,
        overwrite: bool,
    ) -> None:
        """Applies an answer and shows what came of it.

        Raises:
            Stale: the proposals changed meanwhile, so nothing was done.
        """
        try:
            match answer:
                case "accept":
                    outcomes = await self._app.accept(self._session, target, version, overwrite_user_lines=overwrite)
                case "accept_more":
                    outcomes = await self._app.accept(self._session, more, version)
                case "reject":
                    outcomes = await decisions.reject(self._session.review, target, version)
                case _:
                    return self._show(call, "completed", "Left undecided.")
        except Stale as error:
            self._show(call, "failed", str(error))
            raise
        except RequestRefused as error:
            return self._show(call, "failed", str(error))
        status, text = summarize_outcomes(outcomes)
        return self._show(call, status, text)

    def _with_reasons(self, words: str, proposal: Proposal, hunk_id: str | None) -> str:
        """The words, then why a change weakens tests."""
        reasons = reasons_for(self._session.weakened(), proposal, hunk_id)
        return "\n\n".join(filter(None, [words, *(f"⚠ {escape_invisible(reason)}" for reason in reasons)]))

    def _announce(
        self,
        title: str,
        kind: schema.ToolKind,
        proposal: Proposal,
        content: Sequence[schema.FileEditToolCallContent],
        words: str,
        line: int | None = None,
    ) -> schema.ToolCallUpdate:
        """Sends the call that a question is about. Returns it for the question."""
        call = schema.ToolCallUpdate(
            tool_call_id=f"review-{next(self._numbers)}",
            title=plain(title),
            kind=kind,
            status="pending",
            content=[*content, *text_content(words)],
            locations=[schema.ToolCallLocation(path=plain(proposal.target), line=line)],
        )
        self._begin(call)
        return call

    def _begin(self, call: schema.ToolCallUpdate) -> None:
        self._session.flush()
        self._client.begin_call(self._session.id, call)

    def _show(self, call: schema.ToolCallUpdate, status: schema.ToolCallStatus, text: str) -> None:
        content = [*(call.content or []), *text_content(text)]
        self._session.flush()
        update = schema.ToolCallProgress(
            session_update="tool_call_update", tool_call_id=call.tool_call_id, status=status, content=content
        )
        self._client.update(self._session.id, update)

    def _say(self, text: str) -> None:
        self._client.update(self._session.id, agent_text(note(text)))

    def _name(self, path: str) -> str:
        return escape_to_one_line(self._session.roots.relative(Path(path)))


def _counts(proposal: Proposal) -> str:
    """The numbers of added and removed lines."""
    return f"+{sum(len(hunk.new) for hunk in proposal.hunks)} -{sum(len(hunk.old) for hunk in proposal.hunks)}"


def summarize_outcomes(outcomes: Sequence[HunkOutcome], done: str = "Accepted") -> tuple[schema.ToolCallStatus, str]:
    """Whether a decision succeeded, and what the user reads about it. `done` is the word for what was applied."""
    counts = {"applied": done, "rejected": "Rejected", "conflict": "In conflict", "failed": "Not done"}
    words: list[str] = []
    for result, word in counts.items():
        named = [outcome for outcome in outcomes if outcome.outcome == result]
        if named:
            files = list(dict.fromkeys(inline(escape_to_one_line(outcome.path.name)) for outcome in named))
            more = [f"and {count_of(len(files) - MAX_NAMED, 'more file')}"] if len(files) > MAX_NAMED else []
            reasons = list(dict.fromkeys(outcome.message for outcome in named if outcome.message))[:MAX_NAMED]
            shown = ", ".join([*files[:MAX_NAMED], *more])
            words.append(f"{word}: {shown}. {' '.join(map(escape_invisible, reasons))}".strip())
    is_done = all(outcome.outcome in ("applied", "rejected") for outcome in outcomes)
    return ("completed" if is_done else "failed"), "\n\n".join(words) or "There was nothing to decide."
