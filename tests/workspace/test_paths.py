"""docs/plan.md L11: no path leaves the workspace, directly or through a link; all valid ones work."""

import os
import sys
from pathlib import Path

import pytest

from fairlead.errors import ToolError
from fairlead.uris import file_path
from fairlead.workspace.paths import PathEscape, Roots

links = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need special rights on Windows")


@pytest.fixture
def roots(workspace: Path) -> Roots:
    """A workspace with a folder, and a sibling of the workspace whose name begins with the workspace's name."""
    (workspace / "sub" / "deep").mkdir(parents=True)
    (workspace / "a.py").write_text("inside")
    (workspace.parent / "ws-evil").mkdir()
    (workspace.parent / "ws-evil" / "secret").write_text("outside")
    return Roots.of(workspace)


OUTSIDE = [
    "..",
    "../x",
    "../ws-evil/secret",
    "../ws-evil",
    "../wsx",
    "sub/../../x",
    "sub/../..",
    "./../x",
    "sub/deep/../../../ws-evil/secret",
    "/",
    "/etc/passwd",
    "/etc/../etc/passwd",
    "//etc/passwd",
    "{parent}",
    "{parent}/x",
    "{parent}/ws-evil/secret",
    "{root}-evil/secret",
    "{root}/../ws-evil/secret",
    "{root}/sub/../../ws-evil",
]


@pytest.mark.parametrize("given", OUTSIDE)
def test_fault_32_a_path_outside_is_refused(roots: Roots, given: str) -> None:
    """docs/faults.md 32, docs/plan.md L11: a path outside is refused even if it does not exist. The error has the path
    as it was given.
    """
    path = given.format(root=roots.first.path, parent=roots.first.path.parent)
    with pytest.raises(PathEscape) as error:
        roots.resolve(path)
    assert str(error.value) == f"Path escapes workspace: {path}"


INSIDE = {
    "a.py": "a.py",
    "./a.py": "a.py",
    "sub//deep/./x": "sub/deep/x",
    "sub/../a.py": "a.py",
    "sub/": "sub",
    "gone/new/file": "gone/new/file",
    ".": ".",
    "": ".",
    "..foo": "..foo",
    "...": "...",
    "..foo/..bar": "..foo/..bar",
    "sub/..foo": "sub/..foo",
    "~/x": "~/x",
    "$HOME": "$HOME",
    "日本/語 🚀.txt": "日本/語 🚀.txt",
    "cafe\u0301": "cafe\u0301",
    "a b\tc\nd": "a b\tc\nd",
    "{root}/a.py": "a.py",
    "{root}/sub/../a.py": "a.py",
    "../ws/a.py": "a.py",
}


@pytest.mark.parametrize("given", INSIDE)
def test_fault_43_a_path_inside_is_found(roots: Roots, given: str) -> None:
    """docs/faults.md 43: names that begin with two dots, Chinese names, absolute paths and missing files are valid."""
    path = roots.resolve(given.format(root=roots.first.path))
    assert path == roots.first.path / INSIDE[given]
    assert roots.relative(path) == INSIDE[given]


@links
@pytest.mark.parametrize(
    ("link", "target", "given"),
    [
        ("file", "../ws-evil/secret", "file"),
        ("file", "{parent}/ws-evil/secret", "file"),
        ("folder", "../ws-evil", "folder/secret"),
        ("folder", "../ws-evil", "folder/new/file"),
        ("folder", "..", "folder/ws-evil/secret"),
        ("sub/up", "../../ws-evil", "sub/up/secret"),
        ("nowhere", "../not-there-yet", "nowhere"),
        ("nowhere", "../not-there-yet", "nowhere/x"),
        ("second", "first", "second/secret"),
        ("top", "/", "top/etc/passwd"),
        ("self", "/proc/self/root", "self/etc/passwd"),
    ],
)
def test_fault_33_a_link_to_outside_is_refused(roots: Roots, link: str, target: str, given: str) -> None:
    """docs/faults.md 33: a link is refused as the file or a parent folder, via other links, and without a target."""
    (roots.first.path / "first").symlink_to("../ws-evil")
    (roots.first.path / link).symlink_to(target.format(parent=roots.first.path.parent))
    with pytest.raises(PathEscape, match=f"^Path escapes workspace: {given}$"):
        roots.resolve(given)


@links
@pytest.mark.parametrize(
    ("link", "target", "given", "meant"),
    [
        ("file", "a.py", "file", "a.py"),
        ("file", "{root}/a.py", "file", "a.py"),
        ("file", "../ws/a.py", "file", "a.py"),
        ("folder", "sub/deep", "folder/x", "sub/deep/x"),
        ("sub/back", "..", "sub/back/a.py", "a.py"),
        ("nowhere", "sub/not-yet", "nowhere/x", "sub/not-yet/x"),
    ],
)
def test_fault_43_a_link_that_points_inside_resolves_to_its_target(
    roots: Roots, link: str, target: str, given: str, meant: str
) -> None:
    """docs/faults.md 43: the resolved path is the target's, so that one file has one name, and one proposal."""
    (roots.first.path / link).symlink_to(target.format(root=roots.first.path))
    assert roots.resolve(given) == roots.first.path / meant


@links
def test_a_workspace_that_is_opened_through_a_link_keeps_the_name_of_the_link(roots: Roots) -> None:
    """The editor knows it by that name; a path with its real name means the same file."""
    named = roots.first.path.parent / "named 日本"
    named.symlink_to(roots.first.path)
    opened = Roots.of(named)
    for way in ("sub/x", f"{named}/sub/x", f"{roots.first.real}/sub/x", f"{roots.first.path}/sub/x"):
        assert opened.resolve(way) == named / "sub/x"
    with pytest.raises(PathEscape):
        opened.resolve("../ws-evil/secret")


@links
def test_a_link_to_itself_is_not_outside(roots: Roots) -> None:
    """A link to itself resolves to itself. A path below it is an error, and nothing hangs."""
    (roots.first.path / "round").symlink_to("round")
    assert roots.resolve("round") == roots.first.path / "round"
    with pytest.raises(ToolError, match="Not a usable path: round/x"):
        roots.resolve("round/x")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("a\0b", "A path cannot contain a NUL character."),
        ("x" * 300, "Not a usable path: xxx"),
        ("y/" * 5000, "Not a usable path: y/y/"),
        ("\ud800", "The path contains characters that are not valid Unicode."),
    ],
    ids=["NUL", "long name", "long path", "surrogate"],
)
def test_an_impossible_path_is_refused(roots: Roots, given: str, said: str) -> None:
    """The error is a `ToolError` of bounded length, not an exception from the operating system."""
    with pytest.raises(ToolError) as error:
        roots.resolve(given)
    assert str(error.value).startswith(said)
    assert len(str(error.value)) < 300


def test_a_path_outside_is_shown_as_absolute(roots: Roots) -> None:
    """Messages have the absolute path of a file outside. A path inside is relative to the workspace."""
    assert roots.relative(roots.first.path) == "."
    assert roots.relative(roots.first.path / "sub" / "x") == "sub/x"
    assert roots.relative(roots.first.path.parent / "x") == str(roots.first.path.parent / "x")


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
def test_fault_137_a_name_that_is_not_utf_8_is_found_as_it_is_shown(tmp_path: Path) -> None:
    """docs/faults.md 137: U+FFFD in a path stands for any byte, if only one file or folder looks like that."""
    folder = tmp_path / os.fsdecode(b"d\xe9")
    folder.mkdir()
    for name in (b"caf\xe9", b"a\xe8", b"a\xe9"):
        (folder / os.fsdecode(name)).touch()
    roots = Roots.of(tmp_path)
    assert roots.resolve("d\ufffd/caf\ufffd") == folder / os.fsdecode(b"caf\xe9")
    assert roots.resolve("d\ufffd/a\ufffd") == folder / "a\ufffd"  # it could be either
    (folder / "caf\ufffd").touch()
    assert roots.resolve("d\ufffd/caf\ufffd") == folder / "caf\ufffd"
    for path in (folder / os.fsdecode(b"caf\xe9"), folder / "caf\ufffd", tmp_path / "a b%é"):
        assert file_path(path.as_uri()) == path
