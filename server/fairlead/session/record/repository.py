"""The Git repository of a workspace: commits, their files from Git's objects, and the notes that hold records.

Git runs without its filters, hooks and replacements, so that a commit is what its id says, byte for byte.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.session.record.digest import TRAILER
from fairlead.workspace.paths import real_path

NOTES = "refs/notes/fairlead"
# variables that lead Git to another repository or to other objects than those of the folder
_ELSEWHERE = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_GRAFT_FILE"),
)
_ENVIRONMENT = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "log.showSignature=false")
_EXECUTABLE, _LINK, _SUBMODULE = "100755", "120000", "160000"
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:[^\n]*\n)*?oid sha256:([0-9a-f]{64})\n")
_MAX_POINTER = 1024  # bytes; Git LFS makes none that is longer


class GitFailed(Exception):
    """Git could not do something, or a commit contains what cannot be used; the message tells the user what."""


@dataclass(frozen=True, slots=True)
class Export:
    """The files of a commit in a folder, and what the folder lacks."""

    submodules: Sequence[str]
    """The paths of the submodules, whose files belong to other repositories."""
    pointers: Mapping[str, str]
    """The SHA-256 of each file whose content Git LFS holds, by path: the file contains only that and the size."""


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    id: str
    path: str


class Repository:
    """A repository with a work tree."""

    def __init__(self, folder: Path) -> None:
        """Finds the repository of a folder.

        Raises:
            GitFailed: there is none, or no Git.
        """
        git = shutil.which("git")
        if git is None:
            raise GitFailed("Git was not found. Install it.")
        # not a program of this name in the current folder
        self._git = os.path.abspath(git)
        self.top = folder
        try:
            self.top = Path(os.fsdecode(self._run("rev-parse", "--show-toplevel").rstrip(b"\n")))
        except GitFailed as error:
            raise GitFailed(f"{folder} cannot be used as a Git repository. {error}") from error

    def commit_id(self, revision: str) -> str:
        """The full id of a commit. Raises GitFailed if there is none."""
        try:
            found = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except GitFailed as error:
            raise GitFailed(f"There is no commit “{revision}” in {self.top}.") from error
        return found.decode().strip()

    def named_records(self, commit: str) -> Sequence[str]:
        """The digests of records that the trailers of a commit's message name."""
        form = f"--format=%(trailers:key={TRAILER},valueonly,unfold)"
        lines = self._run("log", "-1", "--no-show-signature", "--no-notes", form, commit)
        return [line.strip() for line in lines.decode("utf-8", "replace").splitlines() if line.strip()]

    def note(self, commit: str) -> bytes | None:
        """The record in a commit's note; None if there is none."""
        try:
            found = self._run("notes", f"--ref={NOTES}", "list", commit)
        except GitFailed:
            return None
        return self._run("cat-file", "blob", found.decode().strip())

    def add_note(self, commit: str, data: bytes) -> None:
        """Saves a record in a commit's note, in place of the one that it has. Raises GitFailed."""
        # `git notes add -F` would change blank lines; a blob stays as it is
        blob = self._run("hash-object", "-w", "--stdin", given=data).decode().strip()
        self._run("notes", f"--ref={NOTES}", "add", "--force", "-C", blob, commit)

    def changed_files(self, commit: str) -> Sequence[str] | None:
        """The paths of what a commit changes in its first parent; None if the repository lacks the parent."""
        header = self._run("cat-file", "commit", commit).partition(b"\n\n")[0].decode("utf-8", "replace")
        # not from `git log`, which shows the oldest commit of a shallow clone without parents
        parents = [line.removeprefix("parent ") for line in header.splitlines() if line.startswith("parent ")]
        compare = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-commit-id")
        if not parents:
            found = self._run(*compare, "--root", commit)
        else:
            try:
                self._run("cat-file", "-e", parents[0])
            except GitFailed:
                return None
            found = self._run(*compare, parents[0], commit)
        return [os.fsdecode(each) for each in found.split(b"\0") if each]

    def ignored(self, paths: Sequence[str], tree: Path) -> frozenset[str]:
        """The paths that Git ignores by the rules in a folder with the files of a commit (`export`)."""
        if not paths:
            return frozenset()
        found = self._by_rules(tree, paths, "check-ignore", "--no-index")
        return frozenset(os.fsdecode(each) for each in found if each)

    def export(self, commit: str, folder: Path) -> Export:
        """Writes the files of a commit into an empty folder, byte for byte as Git stores them.

        Raises:
            GitFailed: Git lacks an object, or a path of the commit is not one of a file in the folder.
            OSError: a file cannot be written.
        """
        entries = list(self._entries(commit))
        files = [each for each in entries if each.mode not in (_LINK, _SUBMODULE)]
        links = [each for each in entries if each.mode == _LINK]
        pointers = dict[str, str]()
        for entry, data in self._contents(files):
            path = _made_parent(folder, entry.path)
            with open(path, "xb") as file:
                file.write(data)
            if entry.mode == _EXECUTABLE:
                path.chmod(0o755)
            if len(data) < _MAX_POINTER and (pointer := _POINTER.match(data)):
                pointers[entry.path] = pointer[1].decode()
        for entry, data in self._contents(links):  # after all files, so that none is written through a link
            _made_parent(folder, entry.path).symlink_to(os.fsdecode(data))
        submodules = [each.path for each in entries if each.mode == _SUBMODULE]
        for path in submodules:
            (folder / path).mkdir(parents=True, exist_ok=True)
        return Export(submodules, self._filtered(pointers, folder))

    def _filtered(self, pointers: Mapping[str, str], tree: Path) -> Mapping[str, str]:
        """Those pointers that Git LFS replaces by their contents, by the attributes in a folder.

        Any other file with such a text is what it contains.
        """
        fields = self._by_rules(tree, [*pointers], "check-attr", after=("filter",)) if pointers else list[bytes]()
        values = zip(fields[::3], fields[2::3], strict=False)
        return {path: pointers[path] for name, value in values if value == b"lfs" and (path := os.fsdecode(name))}

    def _by_rules(
        self, tree: Path, paths: Sequence[str], command: str, *options: str, after: Sequence[str] = ()
    ) -> Sequence[bytes]:
        """What Git says about paths by the rules in the files of a folder."""
        folder = os.fsdecode(self._run("rev-parse", "--absolute-git-dir").rstrip(b"\n"))
        places = (f"--git-dir={folder}", f"--work-tree={tree}")
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        found = self._run(*places, command, *options, "-z", "--stdin", *after, given=given, cwd=tree, expected=(0, 1))
        return found.split(b"\0")

    def _entries(self, commit: str) -> Iterator[_Entry]:
        listed = self._run("ls-tree", "-r", "-z", "--full-tree", commit)
        for line in listed.split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            mode, _, id_ = about.decode().split()
            path = os.fsdecode(name)
            parts = path.replace("\\", "/").split("/") if os.name == "nt" else path.split("/")
            if any(part in ("", ".", "..") or part.casefold() == ".git" for part in parts):
                raise GitFailed(f"The commit contains the path “{path}”, which is none of a file in a repository.")
            yield _Entry(mode, id_, path)

    def _contents(self, entries: Sequence[_Entry]) -> Iterator[tuple[_Entry, bytes]]:
        """The entries with their contents, one after the other, as a commit may be large."""
        with subprocess.Popen(
            [self._git, *_OPTIONS, "cat-file", "--batch"],
            cwd=self.top,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            for entry in entries:
                process.stdin.write(f"{entry.id}\n".encode())
                process.stdin.flush()
                answer = process.stdout.readline().split()
                if len(answer) != 3 or answer[1] != b"blob":
                    raise GitFailed(f"Git does not have the content of {entry.path}. Fetch it first.")
                data = process.stdout.read(int(answer[2]))
                process.stdout.read(1)  # a line feed
                yield entry, data
            process.stdin.close()

    def _run(
        self, *arguments: str, given: bytes = b"", cwd: Path | None = None, expected: Sequence[int] = (0,)
    ) -> bytes:
        """What Git prints. Raises GitFailed with Git's own message if it fails."""
        command = [self._git, *_OPTIONS, *arguments]
        try:
            ended = subprocess.run(
                command, cwd=cwd or self.top, env=_environment(), input=given, capture_output=True, check=False
            )
        except OSError as error:
            raise GitFailed(f"Git could not be started: {error.strerror or error}.") from error
        if ended.returncode not in expected:
            raise GitFailed(ended.stderr.decode("utf-8", "replace").strip() or "Git failed.")
        return ended.stdout


def _made_parent(folder: Path, name: str) -> Path:
    """The path of a file, whose folder is made. Raises GitFailed if a link of the commit leads the path elsewhere."""
    path = folder / name
    if real_path(path.parent) != real_path(folder) / Path(name).parent:
        raise GitFailed(f"The commit contains the path “{name}” below a link.")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _ELSEWHERE} | _ENVIRONMENT
