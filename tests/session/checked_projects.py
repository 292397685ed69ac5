"""Small projects with a check, for each of many tools (`fixtures/checked_projects.yaml`)."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from session.boxed import BoxedSession

Texts = Mapping[str, str | None]
"""By path: a text; None deletes the file."""
MODULES = Path(os.environ.get("FAIRLEAD_TEST_MODULES") or Path(__file__).parents[2] / "node_modules")
"""The `node_modules` that projects get packages from."""
_FILE = Path(__file__).with_name("fixtures") / "checked_projects.yaml"


@dataclass(frozen=True)
class CheckedProject:
    """A project, its check, and changes of its files."""

    name: str
    check: str
    files: Mapping[str, str]
    stale: Sequence[Texts]
    """Changes after which the check must run again."""
    holds: Sequence[Texts]
    """Changes that cannot matter to it."""
    alarms: Sequence[Texts] = ()
    """Such changes after which it must run again all the same."""
    needs: Sequence[str] = ()
    """Programs."""
    imports: Sequence[str] = ()
    """Packages of the `python3` on the PATH."""
    modules: Sequence[str] = ()
    """Packages of npm."""
    user: str = ""
    """What the user runs on disk; the check if it is empty."""
    repeated: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files that exist once for each number `{n}`."""

    def missing(self) -> str:
        """What is not installed; empty if everything is."""
        programs = [name for name in self.needs if shutil.which(name) is None]
        modules = [name for name in self.modules if not (MODULES / name).is_dir()]
        return ", ".join([*programs, *_missing_packages(self.imports), *modules])

    def texts(self, count: int) -> dict[str, str]:
        """Its files, with `count` copies of the repeated ones."""
        copies = {
            path.replace("{n}", str(n)): text.replace("{n}", str(n))
            for path, text in self.repeated.items()
            for n in range(count)
        }
        return {**self.files, **copies}

    def write(self, folder: Path, count: int = 3) -> None:
        """Makes it in a folder. Installed packages are hard links if possible."""
        apply(folder, self.texts(count))
        if self.modules:
            copy_modules(folder / "node_modules")


def apply(folder: Path, texts: Texts) -> dict[str, str | None]:
    """Writes and deletes files. Returns what restores them."""
    before: dict[str, str | None] = {}
    for name, text in texts.items():
        path = folder / name
        before[name] = path.read_text() if path.is_file() else None
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)  # it may be a hard link
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)
    for name, text in texts.items():
        parent = (folder / name).parent
        while text is None and parent != folder and parent.is_dir() and not any(parent.iterdir()):
            parent.rmdir()
            parent = parent.parent
    return before


def copy_modules(target: Path) -> None:
    def link(source: str, copy: str) -> None:
        try:
            os.link(source, copy)
        except OSError:
            shutil.copy2(source, copy)

    shutil.copytree(MODULES, target, symlinks=True, copy_function=link)


def projects() -> list[CheckedProject]:
    return [CheckedProject(**row) for row in yaml.safe_load(_FILE.read_text())]


def _missing_packages(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    code = f"import importlib.util as u; print(*[n for n in {list(names)!r} if u.find_spec(n) is None])"
    ran = subprocess.run(
        [shutil.which("python3") or "python3", "-c", code], capture_output=True, text=True, check=False
    )
    return ran.stdout.split()


async def run_on_disk(agent: BoxedSession, command: str) -> None:
    """Runs what the user runs, in the workspace itself."""
    process = await asyncio.create_subprocess_shell(
        command, cwd=agent.folder, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    assert await process.wait() == 0, command
