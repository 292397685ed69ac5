"""The port for LSP's language requests, which the user's editor or a language server of our own answers."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from fairlead.agent.errors import ToolError


class NoAnswer(ToolError):
    """A request got no usable answer. The message is for the model: what happened, then what to do."""


class Provider(Protocol):
    """Answers language requests about the texts that it knows."""

    @property
    def name(self) -> str:
        """For users: "the editor", or the name of the language server."""
        ...

    @property
    def encoding(self) -> str:
        """The position encoding of its columns (LSP 3.18, `PositionEncodingKind`)."""
        ...

    def supports(self, method: str) -> bool:
        """Whether it may answer a method."""
        ...

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Sends a request and returns the result as JSON. Cancelling the caller cancels the request.

        Args:
            method: LSP's own name, such as `textDocument/references`.

        Raises:
            NoAnswer: it does not support the method, refused, did not answer in time, or has ended.
        """
        ...


class LanguageServer(Provider, Protocol):
    """A provider that also knows texts that are in no file: the proposed ones."""

    async def show(self, texts: Mapping[Path, str]) -> None:
        """Opens these files as documents with these texts, and closes all others. Ignores files of other languages.

        Raises:
            NoAnswer: the server has ended.
        """
        ...

    async def diagnostics(self, paths: Sequence[Path]) -> Mapping[Path, Sequence[Any]]:
        """The problems in open documents as LSP's `Diagnostic`, once the server has checked the texts shown last.

        Unchecked JSON. A file is missing if the server did not check it in time.

        Raises:
            NoAnswer: the server has ended.
        """
        ...


class LanguageServers(Protocol):
    """The language servers of a session, which start when they are needed."""

    def name_for(self, path: Path) -> str:
        """The name of the server for a file's language; "" if there is none, or it failed or was refused.

        Starts nothing.
        """
        ...

    async def server(self, path: Path) -> LanguageServer:
        """The server for a file's language; starts it if necessary, after asking the user where that is needed.

        Raises:
            NoAnswer: there is none, it cannot be started, or the user refused it.
        """
        ...

    def suffixes(self) -> Collection[str]:
        """The suffixes of the files that a server could be started for, such as `.py`. Starts nothing."""
        ...

    async def aclose(self) -> None:
        """Ends all servers and their processes."""
        ...
