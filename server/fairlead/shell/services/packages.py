"""Installs the packages of `npx` and `uvx` servers once, with pinned versions, so that they start without the network.

`npx` and `uvx` would download them at each start in the box, whose caches are discarded, and would take whatever
version is the newest then.
"""

import asyncio
import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

import platformdirs

from fairlead.display import end_sentence, strip_sequences
from fairlead.json_values import fields_of
from fairlead.shell.process import kill_all
from fairlead.shell.services.errors import ServiceError

INSTALL_SECONDS = 600.0
_DONE = "installed"
_MAX_TOLD = 600
_NPX_FLAGS = ("-y", "--yes", "-q", "--quiet", "--prefer-online", "--prefer-offline")
_UVX_FLAGS = ("-q", "--quiet", "--refresh", "--isolated")


@dataclass(frozen=True, slots=True)
class Package:
    """What a command line of `npx` or `uvx` would download and run."""

    runner: Literal["npm", "uv"]
    specs: tuple[str, ...]
    """The packages, with versions or without; the first is the main one."""
    program: str
    """The name of the program; empty: that of the main package."""
    arguments: tuple[str, ...]
    """Those of the program."""
    python: str = ""

    def folder(self, parent: Path) -> Path:
        """Where it is installed."""
        name = "".join(character if character.isalnum() else "-" for character in self.specs[0]).strip("-")
        digest = hashlib.sha256(repr((self.runner, self.specs, self.python)).encode()).hexdigest()[:12]
        return parent / f"{name[:40]}-{digest}"

    def install_command(self, folder: Path) -> Sequence[str]:
        """The command that installs it. No script of a package runs, and nothing is built."""
        if self.runner == "npm":
            options = ["--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"]
            return [_program("npm"), "install", "--prefix", str(folder), *options, *self.specs]
        main, *others = self.specs
        python = ["--python", self.python] if self.python else []
        return [
            _program("uv"),
            *("tool", "install", "--force", "--no-build", *python),
            *(word for each in others for word in ("--with", each)),
            main,
        ]

    @staticmethod
    def variables(folder: Path) -> Mapping[str, str]:
        """The variables for the installation."""
        return {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin"), "CI": "1"}


def packages_folder() -> Path:
    """The user's folder for the packages of tool servers, and for what these keep. A box shows its server's part."""
    return platformdirs.user_data_path("fairlead", appauthor=False) / "tool-servers"


def package_of(command: Sequence[str]) -> Package | None:
    """What a command line would download; None if it is no such line, or one with options that are not known."""
    words = list(command)
    name = PurePath(words[0]).stem.lower() if words else ""
    if name in ("npx", "bunx"):
        return _npx(words[1:])
    if name == "uvx":
        return _uvx(words[1:])
    if name == "uv" and words[1:3] == ["tool", "run"]:
        return _uvx(words[3:])
    return None


def _npx(words: list[str]) -> Package | None:
    specs: list[str] = []
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        option, has_value, value = word.partition("=")
        if option in ("-p", "--package"):
            if not has_value and not words:
                return None
            specs.append(value if has_value else words.pop(0))
        elif word not in _NPX_FLAGS:
            return None
    if not words:
        return None
    program, *arguments = words
    return Package("npm", tuple(specs) or (program,), program if specs else "", tuple(arguments))


def _uvx(words: list[str]) -> Package | None:
    main, others, python = "", list[str](), ""
    while words and words[0].startswith("-"):
        option, has_value, value = words.pop(0).partition("=")
        if option in ("--from", "--with", "--python", "-p"):
            if not has_value and not words:
                return None
            given = value if has_value else words.pop(0)
            main, python = (given if option == "--from" else main), (given if option in ("--python", "-p") else python)
            others += [given] if option == "--with" else []
        elif option not in _UVX_FLAGS:
            return None
    if not words:
        return None
    program, *arguments = words
    spec = program.replace("@", "==", 1) if "@" in program and "==" not in program else program
    spec = spec.removesuffix("==latest")
    return Package("uv", (main or spec, *others), program if main else "", tuple(arguments), python)


def installed_program(package: Package, folder: Path) -> Path | None:
    """The program of an installed package; None if it is not installed, or does not have the program."""
    if not (folder / _DONE).exists():
        return None
    if package.runner == "uv":
        return _only(folder / "bin", package.program or _bare(package.specs[0]))
    programs = folder / "node_modules" / ".bin"
    main = _bare(package.specs[0])
    if package.program:
        # a package of one platform may have its program only there
        return _only(programs, package.program) or _only(folder / "node_modules" / main / "bin", package.program)
    try:
        described = fields_of(json.loads((folder / "node_modules" / main / "package.json").read_text("utf-8")))
    except (OSError, ValueError):
        return None
    given, short = described.get("bin"), main.rpartition("/")[2]
    names = [short] if isinstance(given, str) else list(fields_of(given))
    return _only(programs, short if short in names or len(names) != 1 else names[0])


async def install(package: Package, folder: Path) -> None:
    """Installs a package with the user's `npm` or `uv`, outside of the sandbox.

    Raises:
        ServiceError: it cannot be installed.
    """
    await asyncio.to_thread(_empty, folder)
    command = package.install_command(folder)
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, **package.variables(folder)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=os.name != "nt",
    )
    try:
        async with asyncio.timeout(INSTALL_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError as error:
        raise ServiceError(f"its package could not be installed within {INSTALL_SECONDS:.0f} s") from error
    finally:
        if process.returncode is None:
            kill_all(process.pid, exited=False)
            await process.wait()
    if process.returncode != 0:
        said = strip_sequences(output.decode("utf-8", "replace")).strip()[-_MAX_TOLD:]
        raise ServiceError(f"its package could not be installed. {shlex.join(command)} said: {end_sentence(said)}")
    (folder / _DONE).touch()


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ServiceError(f"{name} was not found, which would install its package")
    return found


def _bare(spec: str) -> str:
    """The name of a package without its version: of `@scope/name@1.2`, `name[extra]==1.2`."""
    at = spec.find("@", 1)
    name = spec[:at] if at > 0 else spec
    for mark in ("==", ">=", "<=", "~=", "!=", ">", "<", "["):
        name = name.partition(mark)[0]
    return name.strip()


def _only(folder: Path, name: str) -> Path | None:
    for suffix in ("", ".cmd", ".exe"):
        path = folder / f"{name}{suffix}"
        if path.exists():
            return path
    return None
