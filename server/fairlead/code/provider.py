"""The port for LSP's language requests. The user's editor answers them, or a language server that Fairlead starts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fairlead.errors import ToolError

ADVICE = "Continue with search and read_file."
"""The end of an error: the model's next step if there is no answer."""


class NoAnswer(ToolError):
    """A request got no usable answer. The message is for the model: what happened, then what to do."""


class Provider(Protocol):
    """Answers language requests about the texts that it knows."""

    @property
    def name(self) -> str:
        """The name in messages: "the editor", or the name of the language server."""
        ...

    @property
    def encoding(self) -> str:
        """The unit of its columns (LSP 3.18, `PositionEncodingKind`)."""
        ...

    def supports(self, method: str) -> bool:
        """Whether it may answer a method. If not, `request` raises."""
        ...

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Sends a request and returns the result as JSON. Cancelling the caller cancels the request.

        Args:
            method: LSP's name, such as `textDocument/references`.

        Raises:
            NoAnswer: it does not support the method, refused, did not answer in time, or has ended.
        """
        ...


class LanguageServer(Provider, Protocol):
    """A provider that also knows proposed texts, which are in no file."""

    @property
    def unfinished(self) -> str:
        """What it is still doing after its start, such as "Indexing", so that answers may be incomplete; else ""."""
        ...

    async def show(self, texts: Mapping[Path, str]) -> None:
        """Opens files as documents with these texts, and closes all others. Ignores files of other languages.

        Raises:
            NoAnswer: the server has ended.
        """
        ...

    async def diagnostics(self, paths: Sequence[Path]) -> Mapping[Path, Sequence[Any]]:
        """The problems in open documents, once the server has checked the texts that were shown last.

        Returns:
            LSP's `Diagnostic`s by path, as unchecked JSON. A file is missing if it is not open, or if the server did
            not check it in time.

        Raises:
            NoAnswer: the server has ended, or a request for a file's problems was refused or not answered.
        """
        ...


@dataclass(frozen=True, slots=True)
class MissingServer:
    """A language server in the user's settings whose program is not found."""

    name: str
    program: str
    """As in the settings."""
    suffixes: frozenset[str]
    """Those of the files that it would be asked about, such as `.py`."""


class LanguageServers(Protocol):
    """Language servers, which start when they are needed."""

    def name_for(self, path: Path) -> str:
        """The name of the server for a file's language; "" if none is available. Starts nothing."""
        ...

    async def server(self, path: Path) -> LanguageServer:
        """The server for a file's language. Starts it if necessary, and asks the user first where that is required.

        Raises:
            NoAnswer: there is none, it cannot be started, it failed a moment ago or too often, the user did not allow
                it, or the session has ended.
            ToolError: the layer that it would run in cannot be made.
        """
        ...

    def suffixes(self) -> Collection[str]:
        """The suffixes of the files that a server could be started for, such as `.py`. Starts nothing."""
        ...

    def missing(self) -> Collection[MissingServer]:
        """The servers in the user's settings that cannot be started, because their programs are not found."""
        ...

    async def aclose(self) -> None:
        """Ends all servers and their processes."""
        ...


class SessionLanguageServers(LanguageServers, Protocol):
    """The language servers for all folders of a session."""

    async def start(self, path: Path) -> None:
        """Like `server`, but in advance: no run waits for it."""
        ...
