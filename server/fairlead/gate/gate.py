"""Asks the user, and remembers what they allow for the session.

The questions are about a command, the use of a file that looks like a secret, or a change to a protected file.
"""

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fairlead.display import end_sentence
from fairlead.errors import ToolError
from fairlead.shell.command_line.parse import parse
from fairlead.shell.command_line.wrappers import SHELLS
from fairlead.shell.environment import command_environment
from fairlead.shell.layer import Where
from fairlead.shell.network import Network
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.editor import ApprovalAnswer, ApprovalRequest, Editor
from fairlead.workspace.errors import WorkspaceError

ASKS_AGAIN = "An answer holds once: only bash can tell which files it names, and they may change."
# what may stand before or after a path in a command line
_SEPARATORS = re.compile(r"[\s'\"`;|&()<>=:,{}$\\]+")
_SPACE = re.compile(r"\s")
_OF_FOLDERS = ("__main__.py", "index.js")
"""What an interpreter runs if a line names a folder."""
_OF_PROGRAMS = {
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), ("package.json",)),
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    **dict.fromkeys(
        ("compose", "docker-compose"), ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
    ),
    **dict.fromkeys(("docker", "podman"), ("Dockerfile", "Containerfile")),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "deno": ("deno.json", "deno.jsonc"),
    "composer": ("composer.json",),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "nox": ("noxfile.py",),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "mvn": ("pom.xml",),
    "cargo": ("Cargo.toml", "build.rs"),
}
"""The files that say what a program runs, which a line with its name does not name."""
_MAX_TEXTS, _MAX_FOLDERS, _MAX_PATHS = 20, 20, 20_000
_MAX_READ = 10_000_000


class Gate:
    """What the user has allowed in a session.

    Each permission is for one of three things: a command with its folder, where it runs, its network access and
    environment, and, outside of the sandbox, the content of the files that it names; the use of a file that looks like
    a secret; or one change to a protected file.
    """

    def __init__(self, editor: Editor, session_id: str) -> None:
        self.editor = editor
        self.session_id = session_id
        self._allowed: set[bytes] = set()

    async def ask(
        self, call_id: str, command: str, cwd: Path, reasons: Sequence[str], where: Where, *, network: Network
    ) -> None:
        """Returns when the user has allowed the command, in this place and with this network access.

        Does not ask if the user has allowed the same for the session.

        Args:
            reasons: why the user is asked, the most important reason first.

        Raises:
            ToolError: the user rejected it, did not answer, or could not be asked.
        """
        reached = network.internet, network.service_names
        files = await asyncio.to_thread(_named_files, command, cwd) if where == "workspace" else []
        told = (*reasons, ASKS_AGAIN) if files is None else tuple(reasons)
        request = ApprovalRequest(self.session_id, call_id, command, cwd, where, told)
        content = (command, str(cwd), where, reached, sorted(command_environment().items()), files)
        key = None if files is None else _digest("command", *content)
        answer = await self._answer(key, request)
        if answer.option == "reject":
            raise ToolError(f"Not run: the user did not allow this command.{_reason(answer)}")

    async def ask_file(self, call_id: str, path: Path, reasons: Sequence[str]) -> None:
        """Returns when the user has allowed a tool to use a file that looks like a secret.

        Does not ask if the user has allowed the file for the session, which covers every use of it.

        Raises:
            ToolError: the user rejected it, did not answer, or could not be asked.
        """
        request = ApprovalRequest(self.session_id, call_id, path=path, reasons=tuple(reasons))
        answer = await self._answer(_digest("file", str(path)), request)
        if answer.option == "reject":
            raise ToolError(
                f"Not done: {path.name} looks like a secret, and the user did not allow it.{_reason(answer)} "
                "Continue without its content."
            )

    async def confirm(self, path: Path, change: str, reasons: Sequence[str]) -> bool:
        """Asks the user to confirm a change to a protected file. Returns whether they do.

        Does not ask if the user has allowed the same change for the session. `change` is a text that identifies it.
        """
        request = ApprovalRequest(self.session_id, None, path=path, reasons=tuple(reasons))
        return (await self._answer(_digest("write", str(path), change), request)).option != "reject"

    async def _answer(self, key: bytes | None, request: ApprovalRequest) -> ApprovalAnswer:
        """The user's answer, now or before. Without a key, it holds once."""
        if key in self._allowed:
            return ApprovalAnswer("allow_session")
        answer = await self.editor.approve(request)
        if answer.option == "allow_session" and key is not None:
            self._allowed.add(key)
        return answer


def _reason(answer: ApprovalAnswer) -> str:
    return f" The reason given: {end_sentence(answer.reason)}" if answer.reason else ""


def _named_files(command: str, cwd: Path) -> list[tuple[str, object]] | None:
    """The files that a command line names, each with what identifies its content. A change of a script asks again.

    None if only bash can tell which these are.
    """
    names = _names(command)
    if names is None:
        return None
    folders, paths = [cwd], dict[Path, None]()
    for name in names:
        for folder in tuple(folders):
            for path in (folder / each for each in _spellings(name)):
                if _is(Path.is_dir, path) and path not in folders:
                    folders.append(path)  # `cd folder`, `make -C folder`, `python folder`
                paths[path] = None
            if len(folders) > _MAX_FOLDERS or len(paths) > _MAX_PATHS:
                return None
    words = {os.path.basename(name) for name in names}
    implied = [*_OF_FOLDERS, *(file for program, files in _OF_PROGRAMS.items() if program in words for file in files)]
    paths |= dict.fromkeys(folder / file for folder in folders for file in implied)
    found = list[tuple[str, object]]()
    for path in paths:
        with contextlib.suppress(OSError, ValueError, WorkspaceError):  # it cannot be read
            if path.is_file():
                status = path.stat()
                is_small = status.st_size <= _MAX_READ
                found.append((str(path), _digest(read_bytes(path)) if is_small else _digest(status)))
    return found


def _names(command: str) -> list[str] | None:
    """What may name a file in a command line, in order; None if only bash can tell."""
    found, texts = dict[str, None](), [command]
    for text in texts:
        parsed = parse(text)
        if parsed.unclear or len(texts) > _MAX_TEXTS:
            return None
        for each in parsed.commands:
            values = [word.value for word in each.words]
            for value in values:
                if value is None:
                    return None
                found |= dict.fromkeys((value, value.partition("=")[2], value.lstrip("@<")))
            if {os.path.basename(value or "") for value in values} & (SHELLS | {"eval"}):
                texts += [value for value in values if value and _SPACE.search(value)]
        found |= dict.fromkeys(_SEPARATORS.split(text))
    found.pop("", None)
    return list(found)


def _spellings(name: str) -> Iterator[str]:
    """A name, and how interpreters find a module of this name."""
    yield name
    if not name.startswith("-"):
        yield from (f"{name}{suffix}" for suffix in (".py", ".js", ".cjs", ".mjs", ".ts"))
        if "/" not in name and "." in name:
            module = name.replace(".", "/")
            yield from (module, f"{module}.py")


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


def _digest(*values: object) -> bytes:
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()
