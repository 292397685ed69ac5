"""What all sessions of one server share: the workspace, the editor's ports, the settings, the choice of a model."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.models.factory import ModelChoice
from fairlead.session.settings import Settings
from fairlead.session.store.journal import Journals
from fairlead.shell.layers import CommandLayers
from fairlead.workspace.editor import Buffers, DiagnosticsSource, Editor
from fairlead.workspace.paths import Root


class RequestRefused(Exception):
    """A use case that cannot be done now; the message says why, for people (LSP: RequestFailed)."""


class WrongRequest(ValueError):
    """A use case asked for with values that make no sense (LSP: InvalidParams)."""


class Stale(RequestRefused):
    """The person decided on a state that is no longer the current one (LSP: ContentModified)."""


@dataclass
class Host:
    """Changed by the front end as the editor tells; read by sessions at each use.

    `clock` tells seconds, `now` those since the epoch; `watch` is told of each file whose changes on disk matter;
    `diagnostics` reports the editor's problems, if it supports that; without `wakes` a kept session comes back
    only for a request that names it.
    """

    buffers: Buffers
    editor: Editor
    choose_model: Callable[[], ModelChoice]
    settings: Settings
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    watch: Callable[[Path], None] = lambda _: None
    journals: Journals = field(default_factory=Journals)
    layers: CommandLayers = field(default_factory=lambda: CommandLayers(None))
    root: Root | None = None
    trusted: bool = True
    wakes: bool = True
    diagnostics: DiagnosticsSource | None = None

    def workspace(self) -> Root:
        """The workspace's root.

        Raises:
            RequestRefused: no folder is open, it is gone, or it is not trusted.
        """
        if self.root is None:
            raise RequestRefused("No folder is open. Open the folder that the agent should work in.")
        if not self.root.path.is_dir():
            raise RequestRefused(f"The workspace is not a folder: {self.root.path}")
        if not self.trusted:
            raise RequestRefused("This workspace is not trusted. Trust it in the editor to let the agent work here.")
        return self.root
