"""`search` and `list_files`: bounded results from the proposals, then the open buffers, then the disk."""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any

import pytest

from fairlead.errors import ToolError
from fairlead.tools.list_files import MAX_FILES
from fairlead.tools.search import MAX_CONTEXT, MAX_LINES
from fairlead.workspace import limited
from tools.stand_ins import Desk, found, listed

CODE = "import os\n\ndef alpha():\n    return Beta\n\nclass Beta:\n    pass\n"


async def test_a_match_comes_with_its_path_and_line(desk: Desk) -> None:
    """Matches are sorted by path and line and show the whole line; case matters unless `ignoreCase` is set."""
    desk.write("b.py", CODE)
    desk.write("a/日本 x.py", "beta\r\nBeta 🚀\r\n")
    assert await found(desk, "Beta") == ["a/日本 x.py:2:Beta 🚀", "b.py:4:    return Beta", "b.py:6:class Beta:"]
    assert await found(desk, r"^class \w+:$") == ["b.py:6:class Beta:"]
    assert await found(desk, "beta", ignoreCase=True) == [
        "a/日本 x.py:1:beta",
        "a/日本 x.py:2:Beta 🚀",
        "b.py:4:    return Beta",
        "b.py:6:class Beta:",
    ]
    assert await found(desk, "nothing like it") == []


@pytest.mark.parametrize("name", ["saved.txt", "typed.txt", "proposed.txt"])
async def test_the_end_of_a_line_is_found_before_any_line_ending(desk: Desk, name: str) -> None:
    """`$` matches before LF and CRLF, also in open documents and proposals. A carriage return in the pattern matches
    only the one of CRLF.
    """
    text = "one;\r\n\r\ntwo;\r\n"
    desk.write("saved.txt", text)
    desk.documents.type(desk.path / "typed.txt", text)
    await desk.call("write_file", path="proposed.txt", content=text)
    desk.write("lf.txt", "one;\n\ntwo;\n")
    for pattern in (";$", r"^\w+;$", r"[^x]$"):
        assert await found(desk, pattern, path=name) == [f"{name}:1:one;", f"{name}:3:two;"]
        assert await found(desk, pattern, path="lf.txt") == ["lf.txt:1:one;", "lf.txt:3:two;"]
    assert await found(desk, "^$", path=name) == [f"{name}:2:"]
    for pattern in (r";\r$", ";\r", r";\x0D", r";[\r]"):
        assert await found(desk, pattern, path=name) == [f"{name}:1:one;", f"{name}:3:two;"]
        assert await found(desk, pattern, path="lf.txt") == []


async def test_an_escaped_backslash_does_not_name_a_carriage_return(desk: Desk) -> None:
    r"""In `\\r`, as in a Windows path, the backslash is escaped, so no carriage return is meant; in `\\\r` one is."""
    text = "C:\\repo\r\n\\\\r\\\r\n"
    desk.write("a.txt", text)
    assert await found(desk, r"C:\\repo$") == ["a.txt:1:C:\\repo"]
    assert await found(desk, r"^\\\\r\\$") == ["a.txt:2:\\\\r\\"]
    assert await found(desk, r"repo\r$") == ["a.txt:1:C:\\repo"]
    assert await found(desk, r"\\\r$") == ["a.txt:2:\\\\r\\"]


async def test_lines_around_a_match_are_shown_on_request(desk: Desk) -> None:
    """Lines around a match have dashes instead of colons. `--` marks skipped lines. `context` has a maximum."""
    desk.write("a.txt", "".join(f"{n}\n" for n in range(1, 10)))
    desk.write("b.txt", "5\n")
    assert await found(desk, "[28]", context=1) == [
        "a.txt-1-1",
        "a.txt:2:2",
        "a.txt-3-3",
        "--",
        "a.txt-7-7",
        "a.txt:8:8",
        "a.txt-9-9",
    ]
    assert await found(desk, "5", context=1) == ["a.txt-4-4", "a.txt:5:5", "a.txt-6-6", "--", "b.txt:1:5"]
    desk.write("long.txt", "x\n" * 50 + "middle\n" + "x\n" * 50)
    assert len(await found(desk, "middle", context=1000)) == MAX_CONTEXT + 1 + MAX_CONTEXT


WRONG_PATTERNS = ["(", "[z-a]", "*", "a{2,1}", r"\p{Nope}", "\n", "(?P<x>", r"(?=look)"]


@pytest.mark.parametrize("pattern", WRONG_PATTERNS)
async def test_a_wrong_pattern_is_a_clear_error(desk: Desk, pattern: str) -> None:
    """The error is about the regex. The result never says that nothing matches."""
    desk.write("a.txt", "(\n")
    with pytest.raises(ToolError) as error:
        await desk.call("search", pattern=pattern)
    assert "regex" in str(error.value)


UNSUPPORTED = {
    r"foo(?!bar)": "Write the pattern without look-around and backreferences.",
    r"(?<=foo)bar": "Write the pattern without look-around and backreferences.",
    r"(a)\1": "Write the pattern without look-around and backreferences.",
    r"a\nb": "A pattern matches within one line. Search for each line on its own.",
    "a\r\nb": "A pattern matches within one line. Search for each line on its own.",
    r"\x00": "",
}


@pytest.mark.parametrize("pattern", UNSUPPORTED)
async def test_an_unsupported_pattern_is_refused_with_what_to_do_instead(desk: Desk, pattern: str) -> None:
    """The error ends with advice, but never names an option of ripgrep, because the tool does not have such options."""
    desk.write("a.txt", "x\n")
    with pytest.raises(ToolError) as error:
        await desk.call("search", pattern=pattern)
    assert str(error.value).endswith(UNSUPPORTED[pattern])
    assert "--" not in str(error.value)


@pytest.mark.parametrize("pattern", ["-x", "--files", "--", "-", "a b", "'", '"', "$HOME", "`id`", "日本"])
async def test_a_pattern_is_a_pattern_whatever_it_looks_like(desk: Desk, pattern: str) -> None:
    """A pattern is never interpreted as an option or by a shell."""
    desk.write("a.txt", f"<{pattern}>\n")
    escaped = pattern.replace("$", r"\$")
    assert await found(desk, escaped) == [f"a.txt:1:<{pattern}>"]


@pytest.mark.parametrize("pattern", ["a\0b", "x" * 200_000])
async def test_a_pattern_that_cannot_be_an_argument_is_an_error(desk: Desk, pattern: str) -> None:
    """A pattern that contains a NUL, or is too long for an argument, is an error and not a search without matches."""
    with pytest.raises(ToolError, match="could not be started"):
        await desk.call("search", pattern=pattern)


NAMES = [
    "-x",
    "a b.txt",
    "日本/語🚀.txt",
    "..foo",
    "~",
    "$HOME",
    "a;b",
    "a'b\".txt",
    "#c",
    "!d",
    "[e].txt",
    "{f}",
    ".hidden",
]
if sys.platform != "win32":
    NAMES += ["back\\slash", "new\nline", "star*", ":colon:1:"]


@pytest.mark.parametrize("name", NAMES)
async def test_fault_43_a_files_name_is_a_name_whatever_it_looks_like(desk: Desk, name: str) -> None:
    """docs/faults.md 43: a file with an odd name is listed, searched and read, and can be the path of a call. A name
    with a line break is one file.
    """
    desk.write(name, "needle\n")
    assert (await desk.call("list_files")) == name
    assert (await desk.call("list_files", path=name)) == name
    for path in (".", name):
        assert await desk.call("search", pattern="needle", path=path) == f"{name}:1:needle"
    assert await desk.call("read_file", path=name) == "needle\n"


async def test_an_open_document_with_half_a_surrogate_pair_is_searched(desk: Desk) -> None:
    """A document may contain half of an emoji, for example. Its other lines are still found."""
    desk.documents.type(desk.path / "a.txt", "\ud83d\nneedle\n")
    assert await found(desk, "needle") == ["a.txt:2:needle"]


async def test_proposals_and_buffers_are_seen_before_the_disk(desk: Desk) -> None:
    """A proposal hides the open buffer, and a buffer hides the file on disk, so nothing is found twice. A new file in a
    new folder is found too.
    """
    desk.write("a.txt", "on disk\nneedle\n")
    typed = desk.write("b.txt", "needle on disk\n")
    desk.documents.type(typed, "x\nneedle typed\n")
    both = desk.write("c.txt", "needle on disk\n")
    desk.documents.type(both, "needle typed\n")
    await desk.call("edit_file", path="a.txt", old_text="on disk", new_text="needle proposed")
    await desk.call("write_file", path="c.txt", content="needle proposed\n")
    await desk.call("write_file", path="new/d.txt", content="needle new\n")
    assert await found(desk, "needle") == [
        "a.txt:1:needle proposed",
        "a.txt:2:needle",
        "b.txt:2:needle typed",
        "c.txt:1:needle proposed",
        "new/d.txt:1:needle new",
    ]
    assert await found(desk, "on disk") == []
    assert await listed(desk) == ["a.txt", "b.txt", "c.txt", "new/d.txt"]
    assert await found(desk, "needle", path="new") == ["new/d.txt:1:needle new"]
    assert await listed(desk, path="new") == ["new/d.txt"]
    assert await found(desk, "needle", path="new/d.txt", context=1) == ["new/d.txt:1:needle new"]
    assert await found(desk, "needle", glob="*.py") == []
    assert await found(desk, "needle", glob="new/*") == ["new/d.txt:1:needle new"]


async def test_an_open_file_that_is_ignored_stays_ignored(desk: Desk) -> None:
    """An ignored file that the user opens is not found. An ignored file that the model proposed is found."""
    desk.write(".git/HEAD", "needle\n")
    desk.write(".gitignore", "*.gen\n")
    for name in ("ignored.gen", ".git/COMMIT_EDITMSG"):
        desk.documents.type(desk.write(name, "needle\n"), "needle typed\n")
    desk.documents.type(desk.path / "unsaved.txt", "needle unsaved\n")
    desk.write("other.gen", "x\n")
    await desk.call("write_file", path="other.gen", content="needle mine\n")
    assert await found(desk, "needle") == ["other.gen:1:needle mine", "unsaved.txt:1:needle unsaved"]
    assert await listed(desk) == [".gitignore", "other.gen", "unsaved.txt"]


async def test_documents_outside_the_workspace_are_not_searched(desk: Desk) -> None:
    """Documents outside the workspace that the user has open are neither searched nor listed."""
    desk.documents.type(desk.path.parent / "outside.txt", "needle\n")
    assert await found(desk, "needle") == []
    assert await listed(desk) == []


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
async def test_linked_folders_are_not_followed(desk: Desk) -> None:
    """No link to a folder is followed, whether it leads outside or to a folder above it. A path outside is an error."""
    outside = desk.path.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("needle\n")
    desk.write("real/a.txt", "needle\n")
    (desk.path / "out").symlink_to(outside)
    (desk.path / "real" / "round").symlink_to(desk.path)
    (desk.path / "file").symlink_to(outside / "secret.txt")
    assert await listed(desk) == ["real/a.txt"]
    assert await found(desk, "needle") == ["real/a.txt:1:needle"]
    for path in ("out", "out/secret.txt", "file", "..", str(outside), "real/../../outside"):
        for call in ("list_files", "search"):
            with pytest.raises(ToolError, match="Path escapes workspace"):
                await desk.call(call, path=path, **({"pattern": "needle"} if call == "search" else {}))
    assert await listed(desk, path="real/round") == ["real/a.txt"]


async def test_a_missing_path_is_an_error(desk: Desk) -> None:
    """A missing path is an error, because an empty result would say that nothing matches."""
    desk.write("a.txt", "x\n")
    for call in (desk.call("search", pattern="x", path="gone"), desk.call("list_files", path="gone")):
        with pytest.raises(ToolError, match="No such file or folder: gone"):
            await call
    assert await found(desk, "x", path="a.txt") == ["a.txt:1:x"]
    assert await listed(desk, path="a.txt") == ["a.txt"]
    shutil.rmtree(desk.path)
    for call in (desk.call("search", pattern="x"), desk.call("list_files")):
        with pytest.raises(ToolError, match=r"No such file or folder: \."):
            await call


async def test_an_empty_workspace_has_nothing(desk: Desk) -> None:
    """The results for an empty workspace say that there are no files and no matches."""
    assert await desk.call("list_files") == "No files."
    assert await desk.call("search", pattern="") == "No matches."


async def test_many_matches_are_bounded(desk: Desk) -> None:
    """The first MAX_LINES lines are shown, and how many more there are."""
    desk.write("a.txt", "needle\n" * 450)
    lines = await found(desk, "needle")
    assert lines[: MAX_LINES + 1][-2:] == ["a.txt:200:needle", "(250 more lines; narrow the search.)"]
    desk.write("b.txt", "needle\n" * 100_000)
    assert (await found(desk, "needle"))[-1] == "(at least 4,800 more lines; narrow the search.)"


async def test_matches_that_are_excluded_do_not_count_toward_the_limit(desk: Desk) -> None:
    """Lines do not count if the glob excludes their file, or if they are only in the saved text of an open document."""
    desk.write("a.txt", "needle\n" * 20_000)
    desk.write("b.txt", "needle\n" * 20_000)
    desk.write("z.py", "needle\n")
    desk.documents.type(desk.path / "b.txt", "nothing\n")
    assert await found(desk, "needle", glob="*.py") == ["z.py:1:needle"]
    desk.documents.type(desk.path / "a.txt", "nothing\n")
    assert await found(desk, "needle") == ["z.py:1:needle"]


async def test_long_lines_are_shown_around_the_match(desk: Desk) -> None:
    """A minified file must neither fill the answer nor hide what was found."""
    desk.write("min.js", "日" * 50_000 + "needle" + "x" * 50_000 + "\n")
    (line,) = await found(desk, "needle")
    assert line.startswith("min.js:1:...日日")
    assert "needle" in line
    assert line.endswith("xx...")
    assert len(line) < 330


MATCHES_EVERYTHING = ["", "x", "^", ".", "x*", "y?", r"\w", "[^a]", "é|x"]


@pytest.mark.parametrize("pattern", MATCHES_EVERYTHING)
@pytest.mark.parametrize("line", ["\n", "x\n", "x"], ids=["empty lines", "letters", "one line"])
async def test_fault_161_millions_of_matches_give_a_bounded_result(desk: Desk, pattern: str, line: str) -> None:
    """docs/faults.md 161: what is found is reported, with how much more there is at least. A line with millions of
    matches does not hide what is found in other files.
    """
    count = 5_000_000
    (desk.path / "big.txt").write_bytes(line.encode() * count)
    desk.write("sub/a.py", "x = 1\n")
    lines = await found(desk, pattern)
    assert len(lines) <= MAX_LINES + 1 and sum(map(len, lines)) < 20_000
    if line == "x":
        assert lines[0].startswith("big.txt:") and lines[1:] == ["sub/a.py:1:x = 1"]
    elif line == "x\n" or pattern in ("", "^", "x*", "y?"):
        assert lines[0] == f"big.txt:1:{line.strip()}"
        assert lines[-1] == "(at least 4,800 more lines; narrow the search.)"
    else:
        assert lines == ["sub/a.py:1:x = 1"]


@pytest.mark.parametrize("text", ["a(" * 2_000_000, "x" * 2_000_000 + "\nx(y\n"], ids=["one line", "two lines"])
async def test_fault_161_a_very_long_line_in_a_proposal(desk: Desk, text: str) -> None:
    """docs/faults.md 161: texts that are not on disk are searched in the same way."""
    await desk.call("write_file", path="long.txt", content=text)
    lines = await found(desk, r"\(|x", context=1)
    assert lines[0].startswith("long.txt:1:") or lines[0].startswith("long.txt:0:")
    assert lines[1:] == (["long.txt:2:x(y"] if "\n" in text else [])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory")
async def test_fault_190_a_search_says_that_it_left_out_large_files(desk: Desk) -> None:
    """docs/faults.md 190: also if it then searches a proposal in the same folder."""
    desk.write("b.txt", "needle\n")
    with (desk.path / "long.txt").open("wb") as file:
        for _ in range(400):
            file.write(b"letter " * 150_000)
    await desk.call("write_file", path="a.txt", content="other\n")
    large = "(Files of more than 10 MB were left out, because one has a very long line.)"
    assert await found(desk, "needle") == ["b.txt:1:needle", large]
    (desk.path / "long.txt").unlink()
    assert await found(desk, "needle") == ["b.txt:1:needle"]


async def test_a_search_that_fails_for_another_reason_is_not_repeated(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a lack of memory is a reason to search again without places."""
    runs: list[Sequence[str]] = []

    async def start(argv: Sequence[str], *args: Any, **options: Any) -> asyncio.subprocess.Process:
        runs.append(argv)
        return await original(argv, *args, **options)

    original = limited.start
    monkeypatch.setattr(limited, "start", start)
    with pytest.raises(ToolError, match="unclosed group"):
        await desk.call("search", pattern="(")
    assert len([argv for argv in runs if "--regexp" in argv]) == 1


async def test_a_line_of_many_megabytes_is_reported(desk: Desk) -> None:
    """A line of many megabytes is reported but not shown, so that memory stays bounded. Later lines are found too."""
    desk.write("big.json", "needle" + "x" * 9_000_000 + "\nneedle 2\n")
    desk.write("c.txt", "needle 3\n")
    assert await found(desk, "needle") == [
        "big.json:0:(a line that is very long, or has very many matches)",
        "big.json:2:needle 2",
        "c.txt:1:needle 3",
    ]


async def test_binary_files_are_omitted_and_other_encodings_are_shown_as_by_read_file(desk: Desk) -> None:
    """A line that is not UTF-8 can be copied into `old_text`. A long one is shown around the match too."""
    desk.write("bin", b"needle\0\n")
    desk.write("latin.txt", "n\u00e9edle needle\n".encode("latin-1"))
    assert await found(desk, "needle") == ["latin.txt:1:n\u00e9edle needle"]
    desk.write("long.txt", ("\u00e9" * 900 + "needle" + "\u00e9" * 900 + "\n").encode("latin-1"))
    (line,) = await found(desk, "needle", path="long.txt")
    assert "\u00e9needle\u00e9" in line


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe")
async def test_a_pipe_in_the_workspace_delays_nothing(desk: Desk) -> None:
    """docs/faults.md 12: neither a pipe nor a folder that cannot be read delays a search or a list."""
    os.mkfifo(desk.path / "fifo")
    desk.write("a.txt", "needle\n").parent.joinpath("closed").mkdir(mode=0)
    began = time.monotonic()
    assert await found(desk, "needle") == ["a.txt:1:needle"]
    assert await listed(desk) == ["a.txt"]
    assert time.monotonic() - began < 10
    (desk.path / "closed").chmod(0o700)


async def test_many_files_are_bounded(desk: Desk) -> None:
    """The first MAX_FILES files are listed in order, and how many more there are."""
    for number in range(MAX_FILES + 20):
        desk.write(f"d/{number:04}.txt")
    lines = await listed(desk)
    assert lines[MAX_FILES - 1 :] == ["d/0499.txt", "(20 more files; narrow it with path or glob.)"]
    assert len(await listed(desk, glob="d/000*")) == 10


async def test_a_search_can_be_cancelled(desk: Desk) -> None:
    """After a search was cancelled, the next one works."""
    for number in range(50):
        desk.write(f"{number}.txt", "needle\n" * 20_000)
    task = asyncio.ensure_future(found(desk, "no|such|thing", glob="*.py"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await found(desk, "needle", glob="7.txt")) == MAX_LINES + 1


def test_titles_say_what_is_searched_for(desk: Desk) -> None:
    """The user sees a title with the pattern or with the listed folder."""
    assert desk.tools["search"].describe({"pattern": "日本"}) == ("Search 日本", ())
    assert desk.tools["list_files"].describe({}) == ("List files", ())
    assert desk.tools["list_files"].describe({"path": "src"}) == ("List src", ())


ENCODED = {
    "latin.txt": ("café x\n", "latin-1", True),
    "western.txt": ("“café” x\n", "cp1252", True),
    "wide.txt": ("café x\n", "utf-16", True),
    "plain.txt": ("café x\n", "utf-8", True),
    "russian.txt": ("кафе x\n", "cp1251", False),
}


async def test_fault_138_a_search_finds_what_read_file_shows(desk: Desk) -> None:
    """docs/faults.md 138: letters beyond ASCII are found in each encoding. The result names the files whose encoding
    nothing shows.
    """
    for name, (text, encoding, _) in ENCODED.items():
        desk.write(name, text.encode(encoding))
    desk.write("damaged.txt", "日本 café \udcff x\nneedle\n".encode("utf-8", "surrogateescape"))
    shown = {name: text.strip() for name, (text, _, is_read) in ENCODED.items() if is_read}
    shown["damaged.txt"] = "日本 café \ufffd x"
    guessed = "(Nothing shows the encoding of these files, so they were searched as Windows-1252: "
    expected = [
        *(f"{name}:1:{line}" for name, line in sorted(shown.items())),
        f"{guessed}latin.txt, russian.txt, western.txt)",
    ]
    for pattern in ("café", "caf\\u{e9}.? ", "CAFÉ"):
        assert await found(desk, pattern, ignoreCase=True) == expected
    assert await found(desk, "\ufffd x") == ["damaged.txt:1:日本 café \ufffd x", expected[-1]]
    assert await found(desk, "needle", context=1) == ["damaged.txt-1-日本 café \ufffd x", "damaged.txt:2:needle"]
    assert await found(desk, "^.café. x$") == ["western.txt:1:“café” x", expected[-1]]
    assert await found(desk, "^.af. x$", path="latin.txt") == ["latin.txt:1:café x"]
    assert await found(desk, "кафе") == ["No matches.", expected[-1]]


async def test_a_closed_file_is_searched_in_the_encoding_that_its_document_showed(desk: Desk) -> None:
    """docs/faults.md 138: after the document was closed too, and for a pattern in ASCII."""
    path = desk.write("wide.txt", "кафе x\n".encode("utf-16-le"))
    desk.documents.type(path, "кафе x\n")
    assert await desk.call("read_file", path="wide.txt") == "кафе x\n"
    desk.files.user_files.on_disk(path)
    desk.documents.close(path)
    assert await found(desk, "кафе") == await found(desk, "x$") == ["wide.txt:1:кафе x"]
    assert await found(desk, "x$", context=3) == ["wide.txt:1:кафе x"]
