"""Turns the events of a session into updates for the client."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from acp import schema

from fairlead.acp.client import Update, text_block, text_content
from fairlead.acp.diffs import diff_of, diff_of_hunks
from fairlead.acp.texts import MAX_OUTPUT, inline, note, output, plain
from fairlead.agent.events import (
    CheckFinished,
    CommandEnded,
    CommandStarted,
    Compacted,
    Retry,
    Steered,
    Text,
    Thinking,
    ToolFinished,
    ToolKind,
    ToolOutput,
    ToolStarted,
    UsageReported,
)
from fairlead.display import end_sentence, escape_invisible, shorten
from fairlead.edits.changeset import Changeset
from fairlead.plan import PlanItem
from fairlead.plan.verification import Support
from fairlead.sentences import Sentence, english
from fairlead.session.conversation import Continued, Ended, Entry, Prompted
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent, ToolServersChanged, joined_deltas
from fairlead.tool_servers.results import without_tags
from fairlead.tool_servers.status import ServerStatus
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots

KINDS: dict[ToolKind, schema.ToolKind] = {
    "read": "read",
    "edit": "edit",
    "delete": "delete",
    "move": "move",
    "search": "search",
    "execute": "execute",
    "think": "think",
    "fetch": "fetch",
    "ask": "other",
    "agent": "other",
    "other": "other",
}
PLAN_TOOL = "todo"
MAX_FILES = 20
"""How many files of a call are shown with their diffs."""
SUPPORTS = {
    "verified": "verified by {command}",
    "proved": "proved by {command}",
    "failed": "{command} failed",
    "stale": "files changed since {command}",
    "unverified": "not verified",
}
"""What follows a completed step, by what supports it. The others need no word."""


class Updates:
    """The updates of one session.

    Args:
        send: sends an update.
        cost: returns what the whole session cost, in US dollars; None: it is unknown.
    """

    def __init__(
        self, roots: Callable[[], Roots], cost: Callable[[], float | None], send: Callable[[Update], None]
    ) -> None:
        self._roots, self._cost, self._send = roots, cost, send
        self.is_replay = False
        """Whether what is sent has happened earlier, so that the proposals of today belong to none of it."""
        self._changes = Changeset()
        self._announced: set[str] = set()
        self._calls: dict[str, ToolStarted] = {}
        """The calls that have not ended."""
        self._checks: dict[str, str] = {}
        """The id of the shown call of a check that runs, by the call that runs it."""
        self._outputs: dict[str, str] = {}
        """The end of the output of each call that has some."""
        self._plan: list[schema.PlanEntry] = []
        self._failures = set[str]()
        """What the user has read about tool servers that do not work."""
        self.last_text = ""
        """The model's text since its last call or the user's last prompt."""
        self._has_said = False
        """Whether the client has got a text of the model since the last call that it knows, or the last prompt."""

    def __call__(self, events: Sequence[SessionEvent]) -> None:
        for event in joined_deltas(events):
            self._add(event)

    def replay(self, entries: Iterable[Entry]) -> None:
        """Sends a saved conversation."""
        self.is_replay = True
        self.forget_plan()
        for entry in entries:
            match entry.shown:
                case Prompted(said):
                    self.begin_turn()
                    self._send(user_text(said))
                case Steered(said):
                    self._send(user_text(said))
                case Continued():
                    self.begin_turn()
                    self._send(user_text("Continue."))
                case Ended() as ended:
                    self.show_end(ended.stop_reason, ended.message, english(ended.record))
                case shown:
                    self._add(shown)
        for call_id in list(self._calls):  # a run that was interrupted
            self._finish(call_id, "failed", "")
        self.is_replay = False

    def forget_plan(self) -> None:
        """Call it if the client no longer knows the plan."""
        self._plan = []

    def begin_turn(self) -> None:
        """Call it before a run."""
        self.last_text, self._has_said = "", False

    def is_announced(self, call_id: str) -> bool:
        """Whether a call was sent, so that a question can be about it."""
        return call_id in self._announced

    def restore_title(self, call_id: str) -> None:
        """Call it after a question about a call: some clients show the title of the question from then on."""
        if (call := self._calls.get(call_id)) is not None:
            self._progress(call_id, title=_title(call))

    def show_end(self, stop_reason: str, message: str, record: str) -> None:
        """Sends what the user should know about the end of a run, apart from the model's last text."""
        is_known = stop_reason == "end_turn" or (stop_reason == "cancelled" and self.is_replay)  # the user stopped it
        hint = "" if is_known else message.removeprefix(self.last_text.strip()).strip()
        if hint:
            self._send(agent_text(note(hint)))
        if record:
            self._send(agent_text(note(record)))

    def _add(self, event: Any) -> None:
        match event:
            case Text(text, restarts):
                self._say(note(text) if restarts else text)
                self.last_text = "" if restarts else self.last_text + text
            case Thinking(text):
                self._send(schema.AgentThoughtChunk(session_update="agent_thought_chunk", content=text_block(text)))
            case ToolStarted():
                self._begin(event)
            case CommandStarted():
                self._begin_command(event)
            case ToolOutput(call_id, text):
                self._add_output(self._checks.get(call_id, call_id), text)
            case CommandEnded():
                self._end_check(event)
            case ToolFinished():
                self._end(event)
            case CheckFinished():
                if event.call_id is not None:
                    self._progress(event.call_id, title=plain(event.message))
            case _:
                self._add_state(event)

    def _add_state(self, event: Any) -> None:
        """Adds what is not about a call or a text of the model."""
        match event:
            case PlanChanged():
                self._show_plan(event)
            case EditsChanged():
                self._changes = event.changes
            case UsageReported():
                self._show_usage(event)
            case Retry():
                text = f"{english(event.failure.phrases)} Fairlead tries again in {event.delay:.0f} s."
                self._send(agent_text(note(text)))
            case Compacted(text):
                self._send(agent_text(note(text)))
            case ToolServersChanged(statuses):
                self._show_failures(statuses)
            case _:
                pass

    def _say(self, text: str) -> None:
        """Sends a piece of the model's text. The texts of two answers are two paragraphs, also if no call is shown."""
        self._send(agent_text(text if self.last_text or not self._has_said else f"\n\n{text}"))
        self._has_said = True

    def _begin(self, event: ToolStarted) -> None:
        self.last_text = ""
        if event.name == PLAN_TOOL:  # the plan itself is shown
            return
        self._has_said = False
        self._calls[event.call_id] = event
        self._announced.add(event.call_id)
        self._send(
            schema.ToolCallStart(
                session_update="tool_call",
                tool_call_id=event.call_id,
                title=_title(event),
                kind=KINDS[event.kind],
                # some clients hide the question about a call that is in progress already
                status="pending",
                locations=self._locations(event),
            )
        )

    def _begin_command(self, event: CommandStarted) -> None:
        """A check of a step, or of the user, has no call that is shown, so it gets one."""
        if event.call_id in self._calls:
            return self._progress(event.call_id, status="in_progress")
        if not event.is_check:
            return None
        shown = event.call_id if event.run_id is None else f"{event.call_id}.check{len(self._announced)}"
        self._checks[event.call_id] = shown
        self._announced.add(shown)
        return self._send(
            schema.ToolCallStart(
                session_update="tool_call",
                tool_call_id=shown,
                title=plain(f"Check {inline(shorten(event.command, 120))}"),
                kind="execute",
                status="in_progress",
            )
        )

    def _add_output(self, call_id: str, text: str) -> None:
        if call_id not in self._announced:
            return
        self._outputs[call_id] = (self._outputs.get(call_id, "") + text)[-2 * MAX_OUTPUT :]
        self._progress(call_id, content=text_content(output(self._outputs[call_id])))

    def _end_check(self, event: CommandEnded) -> None:
        shown = self._checks.pop(event.run.call_id, None)
        if shown is None:
            return
        self._outputs.pop(shown, None)
        run, without = event.run, event.run.without_changes is not None
        how = f"exit code {run.exit_code}" if run.exit_code is not None else event.ended
        name = "Check"
        if without:
            name = "Check without the changes:"
            how += ", so it needs them" if run.exit_code else ""
        title = plain(f"{name} {inline(shorten(run.command, 120))} ({how})")
        # without the changes, it should fail, which proves that they are needed
        self._progress(shown, status="completed" if run.exit_code == 0 or without else "failed", title=title)

    def _end(self, event: ToolFinished) -> None:
        call = self._calls.get(event.call_id)
        if call is None:
            return
        text = Sentence(*event.shown) if event.shown else without_tags(event.text)
        is_shown = event.is_error or call.kind not in ("read", "edit", "delete", "move")
        self._finish(event.call_id, "failed" if event.is_error else "completed", text if is_shown else "", event.paths)

    def _finish(self, call_id: str, status: schema.ToolCallStatus, text: str, paths: Sequence[str] = ()) -> None:
        call = self._calls.pop(call_id)
        self._outputs.pop(call_id, None)
        content: list[Any] = list(text_content(output(text)) if text else ())
        locations = self._locations(call)
        if not self.is_replay and status == "completed":
            named = [location.path for location in locations] if call.kind in ("edit", "delete", "move") else []
            changed = list(dict.fromkeys([*named, *paths]))[:MAX_FILES]
            content += [diff for path in changed if (diff := self._diff(path, call_id)) is not None]
            known = {location.path for location in locations}
            locations += [schema.ToolCallLocation(path=plain(path)) for path in changed if path not in known]
        self._progress(call_id, status=status, content=content or None, locations=locations or None)

    def _diff(self, path: str, call_id: str) -> schema.FileEditToolCallContent | None:
        """What a call proposes for a file, compared with the disk; None if no diff can show it.

        If the file can only be decided on as a whole, that is all that is proposed for it.
        """
        proposal = self._changes.for_target(path) or self._changes.get(path)
        if proposal is None or proposal.decided_as_whole:
            return diff_of(proposal) if proposal is not None else None
        own = [hunk.id for hunk in proposal.hunks if call_id in proposal.call_ids(hunk)]
        return diff_of_hunks(proposal, own) if own else None

    def _progress(self, call_id: str, **fields: Any) -> None:
        given = {name: value for name, value in fields.items() if value is not None}
        self._send(schema.ToolCallProgress(session_update="tool_call_update", tool_call_id=call_id, **given))

    def _locations(self, call: ToolStarted) -> list[schema.ToolCallLocation]:
        """The files that a call names, without those outside of the workspace."""
        found: list[schema.ToolCallLocation] = []
        for location in call.locations:
            try:
                path = self._roots().path_of(location.path.replace("\0", ""))
            except WorkspaceError:
                continue
            found.append(schema.ToolCallLocation(path=plain(str(path)), line=location.line))
        return found

    def _show_plan(self, event: PlanChanged) -> None:
        entries = [_entry(item, event.supports[item.id]) for item in event.state.items]
        if entries != self._plan:
            self._plan = entries
            self._send(schema.AgentPlanUpdate(session_update="plan", entries=entries))

    def _show_failures(self, statuses: Sequence[ServerStatus]) -> None:
        """Says once which tool servers do not work, as the protocol has no place for that."""
        failed = {
            f"The tool server {inline(each.definition.name)} does not work: {end_sentence(each.problem)}"
            for each in statuses
            if each.state in ("failed", "signIn")
        }
        for text in sorted(failed - self._failures):
            self._send(agent_text(note(escape_invisible(text))))
        self._failures |= failed

    def _show_usage(self, event: UsageReported) -> None:
        """A client needs the size of the window, so nothing is sent if it is unknown."""
        if event.limit is None:
            return
        cost = self._cost()
        self._send(
            schema.UsageUpdate(
                session_update="usage_update",
                used=min(event.context, event.limit),
                size=event.limit,
                cost=schema.Cost(amount=cost, currency="USD") if cost is not None else None,
            )
        )


def _title(call: ToolStarted) -> str:
    """The title of a call. Names and commands in it are code, because clients show titles as Markdown.

    An agent of another maker names its calls by their titles, which may be Markdown already.
    """
    if call.shown:
        sentence, *values = call.shown
        return plain(Sentence(sentence, *(inline(escape_invisible(value)) for value in values)))
    title = escape_invisible(call.title)
    is_markdown = call.name == call.title and "`" in title
    return plain(inline(title) if call.kind == "execute" and not is_markdown else title)


def agent_text(text: str) -> schema.AgentMessageChunk:
    return schema.AgentMessageChunk(session_update="agent_message_chunk", content=text_block(text))


def user_text(text: str) -> schema.UserMessageChunk:
    return schema.UserMessageChunk(session_update="user_message_chunk", content=text_block(text))


def state_words(item: PlanItem, support: Support) -> list[str]:
    """Whether the user holds a step, and what supports it."""
    words = ["on hold"] if item.held else []
    if (template := SUPPORTS.get(support.status)) is not None:
        words.append(template.format(command=inline(shorten(support.command))))
    return words


def _entry(item: PlanItem, support: Support) -> schema.PlanEntry:
    """A step with what the protocol has no field for."""
    words = state_words(item, support)
    suffix = f" ({', '.join(words)})" if words else ""
    return schema.PlanEntry(
        content=plain(escape_invisible(item.content) + suffix), priority="medium", status=item.status
    )
