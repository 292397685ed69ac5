"""A provider and the texts that it knows while it answers a question."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from fairlead.code import decode
from fairlead.code.provider import NoAnswer, Provider

T = TypeVar("T")

LONG_ANSWER = 1000
"""A list with more items is decoded in a thread."""


class Source:
    """A provider and the texts that it knows."""

    def __init__(self, provider: Provider, read: Callable[[Path], str | None], shown: Mapping[Path, str]) -> None:
        """
        Args:
            read: returns the latest text of a file, with the proposals if the provider is shown them, else without;
                None: there is no file.
            shown: the texts that the provider has as open documents when it is asked.
        """
        self.provider, self.read, self.shown = provider, read, shown

    def text(self, path: Path, name: str) -> str:
        """The latest text of a file, as `read` returns it.

        Args:
            name: the file's name in the error.

        Raises:
            NoAnswer: there is no such file for the provider.
            WorkspaceError: it cannot be read as text.
        """
        text = self.read(path)
        if text is None:
            raise NoAnswer(f"{self.provider.name} does not know the file {name}.")
        return text

    async def request(self, method: str, params: dict[str, Any], decoder: Callable[[Any], T]) -> T:
        """The decoded answer of a request.

        Args:
            decoder: converts the JSON. May be called in a thread.

        Raises:
            NoAnswer: the provider does not support the method or did not answer, or the answer is malformed.
        """
        if not self.provider.supports(method):
            raise NoAnswer(f"{self.provider.name} does not offer this ({method}). Continue with search.")
        answer = await self.provider.request(method, params)
        if isinstance(answer, list) and len(cast("list[Any]", answer)) > LONG_ANSWER:
            return await asyncio.to_thread(decode.read_answer, decoder, answer, self.provider.name)
        return decode.read_answer(decoder, answer, self.provider.name)
