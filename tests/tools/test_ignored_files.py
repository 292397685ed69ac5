"""`search` and `list_files` leave ignored files out, unless the model names them."""

import re

import pytest

from fairlead.tools.search import Search
from tools.stand_ins import Desk, found, listed


async def test_ignored_files_are_left_out_and_hidden_ones_are_not(desk: Desk) -> None:
    """A repository's .gitignore, one in a subfolder, and .ignore apply. Hidden files are found, but `.git` is not."""
    desk.write(".git/config", "needle\n")
    desk.write(".gitignore", "*.log\nbuild/\n")
    desk.write("sub/.gitignore", "local.txt\n")
    desk.write(".ignore", "data/\n")
    for name in ("a.py", "a.log", "build/out.py", "sub/local.txt", "sub/b.py", "data/d.py", ".github/ci.yml", ".rc"):
        desk.write(name, "needle\n")
    seen = [".github/ci.yml", ".rc", "a.py", "sub/b.py"]
    assert await found(desk, "needle") == [f"{name}:1:needle" for name in seen]
    assert set(await listed(desk)) == {*seen, ".gitignore", ".ignore", "sub/.gitignore"}


@pytest.mark.parametrize("folder", [".git", ".svn", ".hg", ".jj", ".bzr", "CVS", "sub/.svn", "sub/CVS"])
async def test_the_data_of_version_control_is_left_out(desk: Desk, folder: str) -> None:
    """The data contains copies of the files. Files with similar names, and those next to the data, are found."""
    desk.write(f"{folder}/pristine/a.py", "needle\n")
    desk.write(f"{folder}/server.pem", "needle\n")
    seen = [f"{folder}ignore", "a.py", "cvs2/a.py"]
    for name in seen:
        desk.write(name, "needle\n")
    assert await listed(desk) == sorted(seen)
    assert await listed(desk, glob="**") == sorted(seen)
    assert await found(desk, "needle") == sorted(f"{name}:1:needle" for name in seen)


@pytest.mark.parametrize(
    "glob", ["*", "**", "*.log", "**/*", "**/*.log", "build/**", "*.{py,log}", ".git/**", "!*.py", "*config*"]
)
async def test_no_glob_includes_ignored_files(desk: Desk, glob: str) -> None:
    """No glob includes ignored files, or the data of the repository itself."""
    desk.write(".git/config", "needle\n")
    desk.write(".gitignore", "*.log\nbuild/\n")
    for name in ("a.py", "a.log", "build/out.py", "b.txt"):
        desk.write(name, "needle\n")
    hidden = {"a.log", "build/out.py", ".git/config"}
    assert hidden.isdisjoint(await listed(desk, glob=glob))
    assert hidden.isdisjoint(line.partition(":")[0] for line in await found(desk, "needle", glob=glob))


async def test_ignore_rules_apply_without_a_repository(desk: Desk) -> None:
    """The .gitignore of an unpacked archive applies too. Without a repository, one above the workspace does not."""
    (desk.path.parent / ".gitignore").write_text("*\n")
    desk.write(".gitignore", "node_modules/\n")
    desk.write("node_modules/x.js", "needle\n")
    desk.write("a.js", "needle\n")
    assert await listed(desk) == [".gitignore", "a.js"]
    assert await found(desk, "needle") == ["a.js:1:needle"]


async def test_ignore_rules_above_the_workspace_apply_within_a_repository(desk: Desk) -> None:
    """If the workspace is a subfolder of a repository, the .gitignore at the top of the repository applies."""
    (desk.path.parent / ".git").mkdir()
    (desk.path.parent / ".gitignore").write_text("*.log\n")
    desk.write("a.log")
    desk.write("a.py")
    assert await listed(desk) == ["a.py"]


async def test_an_ignored_folder_can_be_named(desk: Desk) -> None:
    """If a call names an ignored folder, its files are found: the agent may need to read a dependency."""
    desk.write(".gitignore", "node_modules/\n")
    desk.write("node_modules/x/index.js", "needle\n")
    assert await found(desk, "needle", path="node_modules/x") == ["node_modules/x/index.js:1:needle"]
    assert await listed(desk, path="node_modules") == ["node_modules/x/index.js"]


IGNORED = "\n(Left out because ignored: {}. To use one, pass it as `path`.)"


SECRET = "\n(1 file that looks like a secret was omitted; read_file asks the user.)"


@pytest.mark.parametrize("given", [{"path": "logs"}, {"path": "."}, {}], ids=str)
async def test_ignored_files_are_named_if_there_are_no_others(desk: Desk, given: dict[str, str]) -> None:
    """Otherwise the model would conclude that there are no such files. Files that do not match are not named.

    Secrets are only counted, whatever they contain.
    """
    desk.write(".git/HEAD")
    desk.write(".gitignore", "*.log\n*.txt\n.env\n")
    desk.write("logs/.gitkeep", "\n")
    for name in ("a.log", "b.log"):
        desk.write(f"logs/{name}", "needle\n")
    desk.write("logs/c.txt", "other\n")
    desk.write("logs/.env", "needle\n")
    expected = IGNORED.format("logs/a.log, logs/b.log")
    for more in ({}, {"context": 1}):
        assert await desk.call("search", pattern="needle", **given, **more) == f"No matches.{expected}{SECRET}"
    assert await desk.call("search", pattern="needle", glob="*.py", **given) == "No matches."
    assert await desk.call("search", pattern="nothing like it", **given) == f"No matches.{SECRET}"
    assert await desk.call("list_files", glob="*.log", **given) == f"No files.{expected}"
    assert await desk.call("list_files", glob=".env", **given) == f"No files.{SECRET}"
    assert await desk.call("list_files", glob="*.py", **given) == "No files."
    desk.write("logs/d.md", "needle\n")
    assert await found(desk, "needle", **given) == ["logs/d.md:1:needle"]
    assert await listed(desk, glob="logs/*", **given) == ["logs/.gitkeep", "logs/d.md"]


async def test_the_files_of_packages_are_no_secrets(desk: Desk) -> None:
    """Packages ship public certificates. Counting them would suggest that the workspace has secrets."""
    desk.write(".gitignore", "node_modules/\n")
    desk.write("node_modules/x/cert.pem", "needle\n")
    assert await desk.call("search", pattern="other") == "No matches."


async def test_only_some_ignored_files_are_named(desk: Desk) -> None:
    """Only five are named, because there may be thousands. None of them is a file that the agent proposed to delete."""
    desk.write(".git/HEAD")
    desk.write(".gitignore", "*.log\n")
    for number in range(8):
        desk.write(f"logs/{number}.log", "needle\n")
    await desk.call("delete_file", path="logs/0.log")
    for call, given in (("list_files", {}), ("search", {"pattern": "needle"})):
        note = (await desk.call(call, path="logs", **given)).partition("\n")[2]
        named = re.findall(r"logs/[1-7]\.log", note)
        assert len(set(named)) == 5
        assert f"\n{note}" == IGNORED.format(", ".join([*named, ".."]))


async def test_a_search_ends_at_the_first_match_of_an_ignored_file(desk: Desk) -> None:
    """A log may contain millions of matches. The result needs only the file's name."""
    desk.write(".git/HEAD")
    desk.write(".gitignore", "*.log\n")
    desk.write("logs/a.log", "x\n" * 4_000_000)
    expected = IGNORED.format("logs/a.log")
    assert await desk.call("search", pattern="x", path="logs", context=1) == f"No matches.{expected}"


async def test_the_search_in_ignored_files_has_a_time_limit(desk: Desk) -> None:
    """There may be gigabytes of dependencies. After the time limit, the result says that not all were searched."""
    desk.write(".git/HEAD")
    desk.write(".gitignore", "*.log\n")
    desk.write("logs/a.log", "needle\n")
    desk.tools["search"] = Search(desk.files, ignored_seconds=0)
    assert await found(desk, "needle", path="logs") == [
        "No matches.",
        "(Not all ignored files were looked at. To use one, pass it as `path`.)",
    ]
    assert await found(desk, "needle", path="logs/a.log") == ["logs/a.log:1:needle"]
