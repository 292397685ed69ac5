"""Reads an untrusted repository with plumbing commands.

Runs no program that the repository names, and checks nothing out. Also makes a bare repository from folders, so that
two versions of a package are a commit like any other.
"""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# a repository's configuration can name programs; these settings disable those that the commands below might run
_SAFE = (
    "core.fsmonitor=", "core.hooksPath=/dev/null", "core.pager=cat", "core.attributesFile=/dev/null",
    "protocol.allow=never", "safe.directory=*", "log.showSignature=false", "diff.renameLimit=5000",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
}

LINK = "120000"
SUBMODULE = "160000"
EXECUTABLE = "100755"
MAX_NAME = 255
MAX_PATH = 2000


class GitError(Exception):
    """Git failed, or the repository is incomplete. The message is for the user."""


@dataclass(frozen=True)
class Entry:
    """A file in a tree."""

    mode: str
    oid: str

    @property
    def regular(self) -> bool:
        return self.mode.startswith("100")


Tree = dict[str, Entry]


@dataclass(frozen=True)
class Change:
    """What a commit does to one file. `status` is A, D, M, T or R; names are as `os.fsdecode` gives them."""

    status: str
    path: str
    new_path: str
    old: Entry | None
    new: Entry | None


@dataclass(frozen=True)
class Commit:
    id: str
    parent: str | None


class Repository:
    """A repository that is only read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._blobs: subprocess.Popen[bytes] | None = None
        self._trees: dict[str | None, Tree] = {}
        self.unusable: set[str] = set()
        self.git("rev-parse", "--git-dir")

    def git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run(
            [*_command(self.path), *arguments], input=stdin, capture_output=True, env=_environment(), check=False
        )
        if done.returncode:
            raise GitError(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()[:500]}")
        return done.stdout

    def commits(self, newest: int | None, first_parent: bool) -> list[Commit]:
        """The commits, oldest first: without merges, or the first parents with their merges."""
        which = "--first-parent" if first_parent else "--no-merges"
        limit = [f"--max-count={newest}"] if newest else []
        out = self.git("rev-list", "--parents", "--topo-order", which, *limit, "HEAD", "--")
        found = [line.split() for line in out.decode().splitlines()]
        return [Commit(ids[0], ids[1] if len(ids) > 1 else None) for ids in reversed(found)]

    def commit(self, name: str) -> Commit:
        out = self.git("rev-list", "--parents", "--max-count=1", "--end-of-options", name, "--").decode().split()
        return Commit(out[0], out[1] if len(out) > 1 else None)

    def tree(self, commit: str | None) -> Tree:
        """All files of a commit that a workspace can contain; None is the empty tree."""
        if commit in self._trees:
            return self._trees[commit]
        found: Tree = {}
        if commit is None:
            return found
        for row in self.git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            facts, name = row.split(b"\t", 1)
            mode, _, oid = facts.decode().split()
            path = os.fsdecode(name)
            if usable(path):
                found[path] = Entry(mode, oid)
            else:
                self.unusable.add(path)
        # keeps the last two trees, because the next commit's parent is usually one of them
        self._trees = {**dict(list(self._trees.items())[-1:]), commit: found}
        return found

    def changes(self, commit: Commit) -> list[Change]:
        """What a commit changes against its (first) parent, renames found as `git diff -M` finds them."""
        options = ("-r", "-z", "--raw", "--no-abbrev", "--no-commit-id", "-M", "--no-ext-diff", "--no-textconv")
        between = (commit.parent, commit.id) if commit.parent else ("--root", commit.id)
        return list(_changes(self.git("diff-tree", *options, *between).split(b"\0")[:-1]))

    def blob(self, entry: Entry) -> bytes:
        """A file's bytes, or a link's target; empty for a submodule."""
        if entry.mode == SUBMODULE:
            return b""
        if self._blobs is None:
            self._blobs = subprocess.Popen(
                [*_command(self.path), "cat-file", "--batch"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment(),
            )  # fmt: skip
        assert self._blobs.stdin is not None and self._blobs.stdout is not None
        self._blobs.stdin.write(entry.oid.encode() + b"\n")
        self._blobs.stdin.flush()
        answer = self._blobs.stdout.readline().split()
        if len(answer) != 3:
            raise GitError(f"object {entry.oid} does not exist")
        data = self._blobs.stdout.read(int(answer[2]) + 1)[:-1]
        if answer[1] != b"blob":
            raise GitError(f"object {entry.oid} is not the content of a file")
        return data

    def close(self) -> None:
        if self._blobs is not None:
            assert self._blobs.stdin is not None and self._blobs.stdout is not None
            self._blobs.stdin.close()
            self._blobs.stdout.close()
            self._blobs.wait()
            self._blobs = None


def merged(mine: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Git's merge of two sides' changes, None if they overlap."""
    with tempfile.TemporaryDirectory(prefix="fairlead-merge-") as folder:
        names = [os.path.join(folder, name) for name in ("mine", "base", "theirs")]
        for name, data in zip(names, (mine, base, theirs), strict=True):
            Path(name).write_bytes(data)
        command = [*_command(Path(folder)), "merge-file", "-p", "--quiet", *names]
        done = subprocess.run(command, capture_output=True, env=_environment(), check=False)
    return None if done.returncode else done.stdout


def usable(path: str) -> bool:
    """Whether a folder can contain a file with this path. A path in a Git tree may be anything, even `..`."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        return False
    return len(os.fsencode(path)) <= MAX_PATH and all(len(os.fsencode(part)) <= MAX_NAME for part in parts)


def _changes(fields: list[bytes]) -> Iterator[Change]:
    rest = iter(fields)
    for facts in rest:
        old_mode, new_mode, old_oid, new_oid, status = facts.decode().lstrip(":").split()
        path = new_path = os.fsdecode(next(rest))
        if status[0] in "RC":
            new_path = os.fsdecode(next(rest))
        old = None if status[0] == "A" or not usable(path) else Entry(old_mode, old_oid)
        new = None if status[0] == "D" or not usable(new_path) else Entry(new_mode, new_oid)
        if old is not None and new is not None:
            yield Change(status[0], path, new_path, old, new)
        elif old is not None:
            yield Change("D", path, path, old, None)
        elif new is not None:
            yield Change("A", new_path, new_path, None, new)


def repository_of(folders: Sequence[Path], where: Path) -> Repository:
    """A new bare repository with one commit for each folder, whose content is taken byte for byte.

    The same folders lead to the same commits, so a commit's id is valid in the next run too.
    """
    where.mkdir(parents=True)
    make = [*_command(where), "init", "--bare", "--quiet", "--template=", "--initial-branch=main", "."]
    subprocess.run(make, env=_environment(), check=True, capture_output=True)
    importer = subprocess.Popen(
        [*_command(where), "fast-import", "--quiet"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=_environment(),
    )  # fmt: skip
    assert importer.stdin is not None and importer.stderr is not None
    for folder in folders:
        importer.stdin.write(b"commit refs/heads/main\ncommitter x <x@x> 0 +0000\n" + _data(os.fsencode(folder.name)))
        importer.stdin.write(b"deleteall\n")
        for path, mode, data in _files(folder):
            importer.stdin.write(b"M %s inline %s\n" % (mode.encode(), _quoted(path)) + _data(data))
    importer.stdin.close()
    problem = importer.stderr.read().decode(errors="replace")
    if importer.wait():
        raise GitError(f"git fast-import: {problem[:500]}")
    return Repository(where)


def _files(folder: Path) -> Iterator[tuple[bytes, str, bytes]]:
    root = os.fsencode(folder)
    for top, folders, names in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(top, name))]
        folders[:] = sorted(name for name in folders if name not in links)
        for name in sorted(names + links):
            whole = os.path.join(top, name)
            path = os.path.relpath(whole, root)
            status = os.lstat(whole)
            if not usable(os.fsdecode(path)):
                continue
            if stat.S_ISLNK(status.st_mode):
                yield path, LINK, os.readlink(whole)
            elif stat.S_ISREG(status.st_mode):
                with open(whole, "rb") as file:
                    yield path, EXECUTABLE if status.st_mode & 0o100 else "100644", file.read()


def _quoted(path: bytes) -> bytes:
    """A name as fast-import reads it. All bytes are escaped."""
    return b'"' + b"".join(b"\\%03o" % code for code in path) + b'"'


def _data(data: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(data), data)


def _command(path: Path) -> list[str]:
    return ["git", "--no-pager", "-C", str(path), *(part for setting in _SAFE for part in ("-c", setting))]


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | _ENVIRONMENT
