"""Collects what the model gets with a prompt, and reports it to the user."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from fairlead.agent.events import ContextSent, Event
from fairlead.messages.parts import Message, Note, Part
from fairlead.session.context.attachments import Attacher, ReadResource
from fairlead.session.context.context_item import ContextItem
from fairlead.session.context.surroundings import GitState, Surroundings, surroundings_note
from fairlead.skills.library import SkillLibrary
from fairlead.tools.kept_results import KeptResults
from fairlead.workspace.editor import DiagnosticsSource
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from fairlead.workspace.repositories import current_branch


class PromptContext:
    """The context of a session's prompts."""

    def __init__(
        self,
        files: Files,
        diagnostics: DiagnosticsSource | None,
        read_resource: ReadResource,
        kept: KeptResults,
        skills: SkillLibrary,
        emit: Callable[[Event], None],
    ) -> None:
        self._files, self._diagnostics, self._emit = files, diagnostics, emit
        self._read_resource, self._kept, self._skills = read_resource, kept, skills
        self._unreported: ContextSent | None = None

    async def collect(
        self,
        items: Sequence[ContextItem],
        surroundings: Surroundings | None,
        messages: Sequence[Message],
        limit: int | None,
    ) -> list[Part]:
        """The parts for the prompt that follows these messages.

        Args:
            surroundings: what the user is looking at; None: the model does not get it. If it has no Git state, the
                branch is read from the repositories.
            limit: how long the results of a round may be, in characters; None: unknown.
        """
        attacher = Attacher(self._files, self._diagnostics, self._read_resource, self._kept, self._skills, limit)
        attached = await attacher.attach(items)
        parts, titles = attached.parts, list(attached.references)
        if surroundings is not None:
            if surroundings.git is None:
                branch = await asyncio.to_thread(_branches, self._files.roots)
                surroundings = replace(surroundings, git=GitState(branch) if branch else None)
            is_secret = self._files.secret_filter()
            noted = surroundings_note(surroundings, self._files.roots, is_secret, messages)
            if noted is not None:
                note, summary = noted
                parts.append(note)
                titles += [summary] if summary else []
        if titles:
            texts = [part.text for part in parts if isinstance(part, Note)]
            self._unreported = ContextSent("; ".join(titles), "\n\n".join(texts), attached.pictures)
        return parts

    def emit_collected(self) -> None:
        """Emits an event about what was last collected, unless that was reported already."""
        unreported, self._unreported = self._unreported, None
        if unreported is not None:
            self._emit(unreported)


def _branches(roots: Roots) -> str:
    """The branch of the workspace; with several folders, the branch of each one, as in `main (api), topic (web)`.

    Folders without a branch are left out. Empty if no folder has one.
    """
    found = [(root, current_branch(root.path)) for root in roots.folders]
    if not roots.has_names:
        return found[0][1] if found else ""
    return ", ".join(f"{branch} ({root.name})" for root, branch in found if branch)
