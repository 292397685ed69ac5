"""docs/plan.md L11: no path leaves the workspace, directly or through a link; all valid ones work."""

import os
import sys
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from fairlead.agent.errors import ToolError
from fairlead.workspace.paths import PathEscape, Root

links = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")


@pytest.fixture
def root(workspace: Path) -> Root:
    """A workspace with a folder, and a sibling whose name begins like it."""
    (workspace / "sub" / "deep").mkdir(parents=True)
    (workspace / "a.py").write_text("inside")
    (workspace.parent / "ws-evil").mkdir()
    (workspace.parent / "ws-evil" / "secret").write_text("outside")
    return Root(workspace)


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
def test_fault_32_a_path_outside_is_refused(root: Root, given: str) -> None:
    """docs/faults.md 32, docs/plan.md L11: named as it was given, whether it is there or not."""
    path = given.format(root=root.path, parent=root.path.parent)
    with pytest.raises(PathEscape) as error:
        root.resolve(path)
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
def test_fault_43_a_path_inside_is_found(root: Root, given: str) -> None:
    """docs/faults.md 43: a name that begins with two dots, Chinese, absolute ones, what is not there yet."""
    path = root.resolve(given.format(root=root.path))
    assert path == root.path / INSIDE[given]
    assert root.relative(path) == INSIDE[given]


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
def test_fault_33_a_link_to_outside_is_refused(root: Root, link: str, target: str, given: str) -> None:
    """docs/faults.md 33: as the file or on the way, over several links, and where nothing is there yet."""
    (root.path / "first").symlink_to("../ws-evil")
    (root.path / link).symlink_to(target.format(parent=root.path.parent))
    with pytest.raises(PathEscape, match=f"^Path escapes workspace: {given}$"):
        root.resolve(given)


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
def test_fault_43_a_link_that_points_inside_is_what_it_points_to(
    root: Root, link: str, target: str, given: str, meant: str
) -> None:
    """docs/faults.md 43: so one file has one name, and one proposal."""
    (root.path / link).symlink_to(target.format(root=root.path))
    assert root.resolve(given) == root.path / meant


@links
def test_a_workspace_behind_a_link_keeps_the_name_that_it_was_opened_with(root: Root) -> None:
    """The editor knows it by that name; by its real one it is the same place."""
    named = root.path.parent / "named 日本"
    named.symlink_to(root.path)
    opened = Root(named)
    for way in ("sub/x", f"{named}/sub/x", f"{root.real}/sub/x", f"{root.path}/sub/x"):
        assert opened.resolve(way) == named / "sub/x"
    with pytest.raises(PathEscape):
        opened.resolve("../ws-evil/secret")


@links
def test_a_link_in_a_circle_is_no_escape(root: Root) -> None:
    """It is an error when it is read, not a hang here."""
    (root.path / "round").symlink_to("round")
    assert root.resolve("round") == root.path / "round"
    with pytest.raises(ToolError, match="Not a usable path: round/x"):
        root.resolve("round/x")


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
def test_what_cannot_be_a_path_is_refused(root: Root, given: str, said: str) -> None:
    """With a reason of bounded length, none of the system's exceptions."""
    with pytest.raises(ToolError) as error:
        root.resolve(given)
    assert str(error.value).startswith(said)
    assert len(str(error.value)) < 300


PARTS = st.sampled_from(["..", ".", "", "sub", "deep", "a.py", "in", "out", "..foo", "日本", "/", "ws-evil", "ws"])


@links
@given(st.lists(PARTS, max_size=7).map("/".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_fault_32_33_no_combination_leads_out(root: Root, given: str) -> None:
    """docs/faults.md 32 and 33: what is not refused lies inside when all links are followed, and says so itself."""
    for name, target in (("in", "sub/deep"), ("out", "../ws-evil")):
        if not (root.path / name).is_symlink():
            (root.path / name).symlink_to(target)
    try:
        path = root.resolve(given)
    except PathEscape:
        return
    assert Path(os.path.realpath(path)).is_relative_to(root.real)
    assert path.is_relative_to(root.path)
    assert root.resolve(root.relative(path)) == path


def test_a_path_outside_has_its_whole_name(root: Root) -> None:
    """For messages: relative where it is inside, absolute where not."""
    assert root.relative(root.path) == "."
    assert root.relative(root.path / "sub" / "x") == "sub/x"
    assert root.relative(root.path.parent / "x") == str(root.path.parent / "x")
