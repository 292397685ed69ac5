"""The globs of `search` and `list_files`: their format, and what they are relative to."""

import time

import pytest

from fairlead.errors import ToolError
from fairlead.tools.globs import glob_filter
from fairlead.workspace.paths import Roots
from tools.stand_ins import Desk

GLOBS = {
    "*.py": ({"a.py", "src/b.py", "src/x/c.py"}, {"a.txt", "py", "a.pyc"}),
    "src/*.py": ({"src/b.py"}, {"a.py", "src/x/c.py"}),
    "src/**/*.py": ({"src/b.py", "src/x/c.py"}, {"a.py"}),
    "**/*.py": ({"a.py", "src/x/c.py"}, {"a.txt"}),
    "*.{py,ts}": ({"a.py", "b.ts", "src/b.ts"}, {"a.js", "a.{py,ts}"}),
    "{src,lib}/**": ({"src/a", "lib/x/b"}, {"a", "other/src/a"}),
    "{a,{b,c}}.txt": ({"a.txt", "b.txt", "c.txt"}, {"d.txt"}),
    "src": ({"src/a.py", "src/x/b"}, {"a.py"}),
    "src/": ({"src/a.py", "x/src/b"}, {"src"}),
    "!*.py": ({"a.txt", "src/b"}, {"a.py", "src/b.py"}),
    "!*.{py,txt}": ({"a.md"}, {"a.py", "a.txt"}),
    "test_?.py": ({"test_a.py", "x/test_b.py"}, {"test_ab.py"}),
    "[ab].txt": ({"a.txt", "b.txt", "[ab].txt"}, {"c.txt"}),
    "app/[id]/**": ({"app/[id]/page.tsx", "app/[id]/x/y"}, {"app/id/page.tsx", "app/[x]/page.tsx"}),
    "app/[...slug]/*.ts": ({"app/[...slug]/a.ts"}, {"app/slug/a.ts"}),
    "app/[[...slug]]/*": ({"app/[[...slug]]/a"}, {"app/[x]/a"}),
    "app/(shop)/[id]/{a,b}.ts": ({"app/(shop)/[id]/a.ts"}, {"app/shop/[id]/a.ts"}),
    "[id]/[ab]*.ts": ({"[id]/a1.ts", "[id]/[ab]1.ts", "i/b.ts"}, {"[id]/c.ts"}),
    "/[id].ts": ({"[id].ts", "i.ts"}, {"x/[id].ts"}),
    "!app/[id]/**": ({"a"}, {"app/[id]/page.tsx"}),
    r"\[id]/*": ({"[id]/a"}, {"i/a"}),
    "{{cookiecutter.slug}}/*.py": ({"{{cookiecutter.slug}}/a.py"}, {"{x}/a.py"}),
    "*.{py}": ({"a.py", "a.{py}"}, {"a.p"}),
    "日*.md": ({"日本.md", "x/日.md"}, {"本.md"}),
    "/a.py": ({"a.py"}, {"src/a.py"}),
    "": ({"a", "b/c"}, set()),
    "*": ({"a", "b/c"}, set()),
}


@pytest.mark.parametrize("glob", GLOBS)
def test_a_glob_matches_like_a_line_of_a_gitignore_file(glob: str) -> None:
    """In addition, braces contain alternatives, and an exclamation mark inverts the glob.

    Names of files and folders may have brackets, as those of routes have.
    """
    fits = glob_filter(glob, Roots(), ())
    good, bad = GLOBS[glob]
    assert {name for name in good | bad if fits(name)} == good


@pytest.mark.parametrize(
    "glob",
    [
        "x" * 501,
        "{a,b}" * 100,
        "{" * 400,
        "[",
        "{a,b",
        "a{b}c}",
        "\\",
        "**",
        "{}",
        "{,}",
        "[a]/" * 100,
        "{a}" * 150,
        "[" * 300 + "]" * 190,
    ],
)
def test_any_glob_is_quickly_accepted_or_refused(glob: str) -> None:
    """Within a second of CPU time, a glob is accepted, or the error says that it is invalid."""
    began = time.process_time()
    try:
        glob_filter(glob, Roots(), ())("a/b.py")
        said = ""
    except ToolError as error:
        said = str(error)
    assert said == "" or said.startswith("Invalid glob")
    assert time.process_time() - began < 1


def test_a_glob_with_too_many_alternatives_is_refused() -> None:
    """If alternatives beyond the limit were ignored instead, files would silently be missing from the results."""
    assert glob_filter("{a,b}" * 9, Roots(), ())("b" * 9)
    with pytest.raises(ToolError, match="more than 1000 alternatives"):
        glob_filter("{a,b}" * 10, Roots(), ())


@pytest.mark.parametrize(
    ("glob", "reason", "allowed"),
    [
        ("a/**/b/**/c/**/d/**/e/**", "more than 4 double stars", "a/**/b/**/c/**/d/**"),
        ("a*b*c*d*e*/**", "more than 4 stars in one part", "a*b*c*d*/e*/**"),
    ],
)
def test_a_glob_with_too_many_stars_is_refused_with_the_reason(glob: str, reason: str, allowed: str) -> None:
    """Double stars count in the whole glob, other stars in each part."""
    with pytest.raises(ToolError, match=f"{reason} take too long to match"):
        glob_filter(glob, Roots(), ())
    assert not glob_filter(allowed, Roots(), ())("other")


SOURCES = ["a.ts", "src/b.ts", "src/components/c.ts", "src/components/deep/d.ts", "lib/src/e.ts"]
PLACES: list[tuple[str | None, str, set[str]]] = [
    ("src", "components/*.ts", {"src/components/c.ts"}),
    ("src", "src/components/*.ts", {"src/components/c.ts"}),
    ("src", "/*.ts", {"src/b.ts"}),
    ("src", "./*.ts", {"src/b.ts"}),
    ("src", "{components,./components/deep}/*.ts", {"src/components/c.ts", "src/components/deep/d.ts"}),
    ("src", "!components/**", {"src/b.ts"}),
    ("src/components", "components/*.ts", set()),
    ("src/b.ts", "src/*.ts", {"src/b.ts"}),
    (None, "./src/*.ts", {"src/b.ts"}),
    (None, "./*.ts", {"a.ts"}),
    (None, "!./src/**", {"a.ts", "lib/src/e.ts"}),
    (None, "components/*.ts", set()),
    (None, "{workspace}/src/*.ts", {"src/b.ts"}),
    (None, "{workspace}/src/", {"src/b.ts", "src/components/c.ts", "src/components/deep/d.ts"}),
    (None, "!{workspace}/src/**", {"a.ts", "lib/src/e.ts"}),
    (None, "{workspace}-2/src/*.ts", set()),
    ("src", "{workspace}/src/*.ts", {"src/b.ts"}),
]


@pytest.mark.parametrize(("path", "glob", "expected"), PLACES)
async def test_a_glob_is_relative_to_the_path_or_the_workspace(
    desk: Desk, path: str | None, glob: str, expected: set[str]
) -> None:
    """A glob may also be absolute. `search` and `list_files` find the same files, including proposed ones."""
    for name in SOURCES[1:]:
        desk.write(name, "needle\n")
    await desk.call("write_file", path=SOURCES[0], content="needle\n")
    given = {"glob": glob.replace("{workspace}", desk.path.as_posix()), **({"path": path} if path else {})}
    lines = (await desk.call("list_files", **given)).splitlines()
    assert set(lines) == (expected or {"No files."})
    matches = (await desk.call("search", pattern="needle", **given)).splitlines()
    assert {line.partition(":")[0] for line in matches} == (expected or {"No matches."})
