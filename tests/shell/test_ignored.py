"""Git's ignore rules, compared with git."""

import subprocess
import time
from pathlib import Path

import pytest

from fairlead.shell.sandbox.layer.ignored import IgnoreRules, OuterRules, outer_rules, user_rules
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


def reader(root: Path) -> IgnoreRules:
    def read(path: str) -> bytes | None:
        return (root / path).read_bytes() if (root / path).is_file() else None

    return IgnoreRules(read, OuterRules(user_rules(root / ".git")))


def test_the_same_files_are_ignored_as_in_git(tmp_path: Path) -> None:
    """The rules have levels, exceptions, folders, anchors and odd lines; `git check-ignore` is the reference."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(tmp_path, {**RULES, ".git/info/exclude": "excluded\n"})
    write(tmp_path, {path: "" for path in PATHS if path != "foo/bar"})
    check = ["git", "-C", str(tmp_path), "-c", "core.quotePath=off", "check-ignore", "--no-index", *PATHS]
    said = subprocess.run(check, check=False, capture_output=True, text=True).stdout.splitlines()
    ignored = reader(tmp_path)
    assert [path for path in PATHS if ignored.ignores_file(path)] == said


def test_lines_end_as_in_git(tmp_path: Path) -> None:
    """Lines end with LF or CRLF. Form feeds, which old files have between sections, Unicode's separators and a lone CR
    are part of a line."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_bytes(
        "# section\fpaged\n# a\u2028separate\n# b\x85next\n# c\rmac\ndos\r\nlast".encode()
    )
    paths = ["paged", "separate", "next", "mac", "dos", "last"]
    write(tmp_path, dict.fromkeys(paths, ""))
    check = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", *paths]
    said = subprocess.run(check, check=True, capture_output=True, text=True).stdout.splitlines()
    ignored = reader(tmp_path)
    assert [path for path in paths if ignored.ignores_file(path)] == said == ["dos", "last"]


def test_a_subfolder_of_a_repository_has_the_same_rules_as_in_git(tmp_path: Path) -> None:
    """Rules above a workspace apply in it, by its path in the repository; its own rules override them."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    above = {".gitignore": "*.log\n/packages/a/top\n/top2\n*.tmp\n", "packages/.gitignore": "/a/made/\n!keep.log\n"}
    write(tmp_path, {**above, ".git/info/exclude": "/packages/a/excluded\n"})
    workspace = tmp_path / "packages" / "a"
    write(workspace, {".gitignore": "!x.tmp\n/own\n"})
    paths = ["a.log", "keep.log", "d/a.log", "top", "top2", "made/x", "d/made/x", "x.tmp", "y.tmp", "own", "excluded"]
    write(workspace, dict.fromkeys(paths, ""))
    check = ["git", "-C", str(workspace), "check-ignore", "--no-index", *paths]
    said = subprocess.run(check, check=True, capture_output=True, text=True).stdout.splitlines()
    ignored = IgnoreRules({".gitignore": b"!x.tmp\n/own\n"}.get, outer_rules(workspace, tmp_path / ".git"))
    assert [path for path in paths if ignored.ignores_file(path)] == said
    assert (ignored.ignores_folder("made"), ignored.ignores_folder("d/made"), ignored.ignores_folder("")) == (
        True,
        False,
        False,
    )


def test_an_ignored_workspace_has_only_its_own_rules(tmp_path: Path) -> None:
    """Work in a folder that the repository around it ignores is not ignored."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(tmp_path, {".gitignore": "/scratch\n*.log\n", "scratch/ws/a.log": "", ".git/info/exclude": "*.x\n"})
    ignored = IgnoreRules({".gitignore": b"*.o\n"}.get, outer_rules(tmp_path / "scratch/ws", tmp_path / ".git"))
    assert [path for path in ("a.log", "a.py", "a.x", "a.o") if ignored.ignores_file(path)] == ["a.o"]


@pytest.mark.parametrize("path", ["build", "sub/build", "foo/bar"])
def test_a_rule_that_ends_with_a_slash_matches_only_folders(tmp_path: Path, path: str) -> None:
    """`build/` ignores folders but no file of this name; the exception `!foo/bar` applies to both."""
    write(tmp_path, RULES)
    ignored = reader(tmp_path)
    assert ignored.ignores_folder(path) == (path != "foo/bar")
    assert not ignored.ignores_file(path)


HOSTILE = ["*a*a*a*a*a*b", "*?a*?a*?a*?b", "**a**a**a**a**b", "*[a/]*[a/]*[a/]*[a/]*b", "**/a*/**/a*/**/a*/**/b"]


@pytest.mark.parametrize("rule", HOSTILE)
def test_no_rule_takes_long(rule: str) -> None:
    """A pattern with many stars, on a long name and on a deep path, does not block the server."""
    text = f"{rule}\nlast\n".encode()
    ignored = IgnoreRules({".gitignore": text}.get, OuterRules())
    deep = "/".join(["a" * 100] * 40)
    start = time.monotonic()
    assert not ignored.ignores_file("a" * 250)
    assert not ignored.ignores_file(deep)
    assert ignored.ignores_file("last")
    assert time.monotonic() - start < 10
