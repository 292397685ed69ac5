"""Git's rules, as git itself reads them."""

import subprocess
import time
from pathlib import Path

import pytest

from fairlead.shell.sandbox.ignored import Ignored, user_rules
from shell.boxes import write

RULES = {
    ".gitignore": "*.log\n!keep.log\nbuild/\n/top.txt\ndoc/**/*.pdf\n\\#odd\n# comment\n\ntrail \nfoo/*\n!foo/bar\n[\n",
    "sub/.gitignore": "*.tmp\n!important.log\n/here\n",
    "sub/deep/.gitignore": "!x.tmp\n",
    "build/.gitignore": "!a\n",
}
PATHS = [
    *("a.log", "keep.log", "sub/a.log", "sub/keep.log", "sub/important.log", "top.txt", "sub/top.txt", "#odd", "trail"),
    *("build/a", "sub/build/a", "doc/a.pdf", "doc/x/y/a.pdf", "a.pdf", "foo/a", "foo/bar", "foo/bar/a", "sub/foo/a"),
    *("sub/a.tmp", "sub/deep/a.tmp", "sub/deep/x.tmp", "a.tmp", "sub/here", "sub/deep/here", "ä ö.log", "excluded"),
]


def reader(root: Path) -> Ignored:
    def read(path: str) -> bytes | None:
        return (root / path).read_bytes() if (root / path).is_file() else None

    return Ignored(read, user_rules(root / ".git"))


def test_as_git_has_it(tmp_path: Path) -> None:
    """Each path is ignored where `git check-ignore` says so: levels, exceptions, folders, anchors, odd lines."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(tmp_path, {**RULES, ".git/info/exclude": "excluded\n"})
    write(tmp_path, {path: "" for path in PATHS if path != "foo/bar"})
    check = ["git", "-C", str(tmp_path), "-c", "core.quotePath=off", "check-ignore", "--no-index", *PATHS]
    said = subprocess.run(check, check=False, capture_output=True, text=True).stdout.splitlines()
    ignored = reader(tmp_path)
    assert [path for path in PATHS if ignored.file(path)] == said


@pytest.mark.parametrize("path", ["build", "sub/build", "foo/bar"])
def test_folders(tmp_path: Path, path: str) -> None:
    """A rule that ends in a slash names folders only; one without names both."""
    write(tmp_path, RULES)
    ignored = reader(tmp_path)
    assert ignored.folder(path) == (path != "foo/bar")
    assert not ignored.file(path.replace("/bar", "/bar"))


HOSTILE = ["*a*a*a*a*a*b", "*?a*?a*?a*?b", "**a**a**a**a**b", "*[a/]*[a/]*[a/]*[a/]*b", "**/a*/**/a*/**/a*/**/b"]


@pytest.mark.parametrize("rule", HOSTILE)
def test_no_rule_takes_long(rule: str) -> None:
    """A pattern with many stars, on a long name and on a deep path, does not hold the server."""
    text = f"{rule}\nlast\n".encode()
    ignored = Ignored({".gitignore": text}.get, [])
    deep = "/".join(["a" * 100] * 40)
    start = time.monotonic()
    assert not ignored.file("a" * 250)
    assert not ignored.file(deep)
    assert ignored.file("last")
    assert time.monotonic() - start < 10
