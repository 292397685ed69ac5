"""A Git repository of a test."""

import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.com")


class GitFolder:
    """A folder with a repository, whose commits have a known author."""

    def __init__(self, path: Path) -> None:
        path.mkdir(exist_ok=True)
        self.path = path
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, given: bytes = b"") -> str:
        """What a command of Git prints. Fails if the command does."""
        command = ["git", *IDENTITY, *arguments]
        ended = subprocess.run(command, cwd=self.path, input=given, capture_output=True, check=False)
        assert ended.returncode == 0, ended.stderr.decode()
        return ended.stdout.decode().strip()

    def commit(self, message: str = "A commit") -> str:
        """Commits all files. Returns the id of the commit."""
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "--file", "-", given=message.encode())
        return self.git("rev-parse", "HEAD")

    def commit_tree(self, *entries: bytes) -> str:
        """Commits a tree with these entries, which Git itself may refuse to make. Returns the id of the commit."""
        tree = self.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", given=b"".join(entries))
        return self.git("commit-tree", tree, "-m", "A tree")

    def blob(self, data: bytes) -> str:
        """The id of a content, which is saved."""
        return self.git("hash-object", "-w", "--stdin", given=data)


def entry(mode: str, name: bytes, id_: str) -> bytes:
    """An entry of a tree object."""
    return f"{mode} ".encode() + name + b"\0" + bytes.fromhex(id_)
