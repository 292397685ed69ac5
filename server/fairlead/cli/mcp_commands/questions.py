"""The questions of the gate, passed to the user of the agent whose call asks them."""

import asyncio
import contextlib
from collections.abc import Callable, Generator
from typing import Any

from fairlead.display import escape_invisible
from fairlead.uris import file_path

SECONDS = 600.0
"""How long a question waits for its answer."""
CANNOT_ASK = (
    "The program that called cannot ask the user. Tell the user to run the command, or to allow it in the setting "
    "bash.allow of Fairlead."
)
NO_ANSWER = "Nobody answered."
OPTIONS = {"Allow once": "allow_once", "Reject": "reject"}
"""What the user chooses from, and the answers of the protocol."""


class Question:
    """A question that waits for its answer."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.text = _text(params)
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    def decide(self, choice: object) -> None:
        """Answers with one of `OPTIONS`. Anything else rejects."""
        self._set({"option": OPTIONS.get(choice, "reject") if isinstance(choice, str) else "reject"})

    def reject(self, reason: str) -> None:
        self._set({"option": "reject", "reason": reason})

    def _set(self, answer: dict[str, Any]) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


class Questions:
    """Passes each question to the call that goes on. There is one at a time."""

    def __init__(self) -> None:
        self._ask: Callable[[Question], None] | None = None

    async def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of `agent/approve`."""
        if self._ask is None:
            return {"option": "reject", "reason": CANNOT_ASK}
        question = Question(params)
        self._ask(question)
        try:
            async with asyncio.timeout(SECONDS):
                return await question.answer
        except TimeoutError:
            return {"option": "reject", "reason": NO_ANSWER}

    @contextlib.contextmanager
    def passed_to(self, ask: Callable[[Question], None]) -> Generator[None]:
        """Passes the questions to a call within the context."""
        self._ask = ask
        try:
            yield
        finally:
            self._ask = None


def _text(params: dict[str, Any]) -> str:
    what = escape_invisible(str(params["command"] or file_path(params["uri"] or "") or params["uri"]))
    where = " outside the sandbox, with all your permissions" if params["mode"] == "workspace" else ""
    verbs = {
        "file": "use this file",
        "tool": "call this",
        "web": "fetch this page of the web",
        "toolServer": f"start this{where}",
        "changedTools": "use these changed tools",
        "installServer": "install this",
        "hook": f"run this hook{where}, now and later",
        "call": "make this call",
    }
    verb = verbs.get(params["kind"], f"run this{where}")
    reasons = "\n".join(f"- {escape_invisible(reason)}" for reason in params["reasons"])
    return f"May Fairlead {verb}?\n\n{what}" + (f"\n\n{reasons}" if reasons else "")
