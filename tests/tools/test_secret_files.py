"""Files that look like secrets are not read, changed, searched or listed for the model without asking the user."""

import os
from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import ToolError
from fairlead.gate.request import ApprovalAnswer, UseSecretFile
from tools.stand_ins import Desk, ScriptedUser

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": ".env"}),
    ("edit_file", {"path": ".env", "old_text": "TOKEN=1", "new_text": "TOKEN=2"}),
    ("write_file", {"path": ".env", "content": "TOKEN=2\n"}),
    ("delete_file", {"path": ".env"}),
    ("rename_file", {"path": ".env", "new_path": "env.txt"}),
]


@pytest.mark.parametrize(("name", "given"), CALLS, ids=[name for name, _ in CALLS])
async def test_each_tool_asks_before_it_touches_a_secret(desk: Desk, name: str, given: dict[str, Any]) -> None:
    """The user sees the file and the reason. A rejection is an error; nothing is shown or proposed."""
    desk.write(".env", "TOKEN=1\n")
    desk = Desk(desk.path, ScriptedUser(ApprovalAnswer("reject", "not that one")), documents=desk.documents)
    with pytest.raises(ToolError) as error:
        await desk.call(name, **given)
    reason = "The reason given: not that one. Continue without its content."
    assert f"the user did not allow it. {reason}" in str(error.value)
    assert "TOKEN" not in str(error.value)
    [asked] = desk.user.asked
    assert asked.action == UseSecretFile(desk.path / ".env")
    assert "looks like a secret" in asked.reasons[0]
    assert desk.proposed(".env") is None


@pytest.mark.parametrize(("name", "given"), CALLS, ids=[name for name, _ in CALLS])
async def test_an_allowed_call_is_executed(desk: Desk, name: str, given: dict[str, Any]) -> None:
    """`allow_once` covers no other file. After `allow_session`, the same file is not asked about again."""
    for file in (".env", "sub/.env"):
        desk.write(file, "TOKEN=1\n")
    desk = Desk(desk.path, ScriptedUser("allow_once", "allow_session"), documents=desk.documents)
    await desk.call(name, **given)
    for _ in range(2):
        await desk.call("read_file", path="sub/.env")
    assert len(desk.user.asked) == 2


@pytest.mark.parametrize("given", [".ENV", "./sub/../.env", "link", "folder/.env", ".env."])
async def test_another_spelling_of_a_secrets_path_asks_too(desk: Desk, given: str) -> None:
    """Different case, dots or a link make no difference: both the file itself and the given name are checked."""
    desk.write(".env", "TOKEN=1\n")
    desk.write(given if given in (".ENV", ".env.") else "x", "TOKEN=1\n")
    (desk.path / "link").symlink_to(".env")
    (desk.path / "folder").symlink_to(".")
    desk = Desk(desk.path, ScriptedUser("reject"), documents=desk.documents)
    with pytest.raises(ToolError, match="looks like a secret"):
        await desk.call("read_file", path=given)


async def test_a_link_that_is_named_like_a_secret_is_one(desk: Desk) -> None:
    """A link named `.env` counts as a secret, whatever the name of its target."""
    desk.write("config/production", "TOKEN=1\n")
    (desk.path / ".env").symlink_to("config/production")
    desk = Desk(desk.path, ScriptedUser("reject"), documents=desk.documents)
    with pytest.raises(ToolError, match="looks like a secret"):
        await desk.call("read_file", path=".env")


async def test_an_open_buffer_with_the_name_of_a_secret_is_a_secret(desk: Desk) -> None:
    """The buffer is a secret even if the file is not on disk yet: `read_file` asks the user, and `search` omits it."""
    desk.documents.type(desk.path / ".env", "TOKEN=1\n")
    desk = Desk(desk.path, ScriptedUser("reject"), documents=desk.documents)
    with pytest.raises(ToolError, match="looks like a secret"):
        await desk.call("read_file", path=".env")
    assert await desk.call("search", pattern="TOKEN") == (
        "No matches.\n(1 file that looks like a secret was omitted; read_file asks the user.)"
    )


async def test_a_secret_with_a_proposed_new_name_is_still_one(desk: Desk) -> None:
    """The user's permission to rename a secret is no permission to read it under its new name."""
    desk.write(".env", "TOKEN=1\n")
    desk = Desk(desk.path, ScriptedUser("allow_once", "reject"), documents=desk.documents)
    await desk.call("rename_file", path=".env", new_path="plain.txt")
    with pytest.raises(ToolError, match="looks like a secret"):
        await desk.call("read_file", path="plain.txt")
    assert (await desk.call("search", pattern="TOKEN")).startswith("No matches.")
    assert (await desk.call("list_files")).startswith("No files.")


async def test_secrets_are_omitted_from_searches_and_lists(desk: Desk) -> None:
    """The result says how many were omitted, whether or not they contain the pattern, even if the path names one."""
    for name in ("a.py", ".env", "certs/server.pem", "private/b.py"):
        desk.write(name, "needle\n")
    desk.write(".fairleadignore", "private/\n")
    three = "\n(3 files that look like secrets were omitted; read_file asks the user.)"
    one = "\n(1 file that looks like a secret was omitted; read_file asks the user.)"
    assert await desk.call("list_files") == ".fairleadignore\na.py" + three
    assert await desk.call("search", pattern="needle") == "a.py:1:needle" + three
    assert await desk.call("search", pattern="nothing like it") == "No matches." + three
    assert await desk.call("search", pattern="needle", path=".env") == "No matches." + one
    assert await desk.call("search", pattern="needle", glob="*.pem") == "No matches." + one
    assert await desk.call("list_files", glob="*.pem") == "No files." + one
    assert await desk.call("search", pattern="needle", path="a.py") == "a.py:1:needle"


ODD_NAMES = (
    *(".ENV", "[x].pem", "!a.key", "^a.key", "-a.key", "]a.key", "{a,b}.pem", "a b.pem", "é.pem"),
    *(("a:b:c.pem", "a\\b.pem", "*.pem") if os.name == "posix" else ()),
)


@pytest.mark.parametrize("rules", ["", "*.private\n"], ids=["the usual rules", "own rules"])
async def test_ignored_files_are_not_counted_as_omitted(desk: Desk, rules: str) -> None:
    """Ignored files are omitted silently, even if they look like secrets. Secrets with odd names are counted."""
    for name in ("a.py", *ODD_NAMES, "sub/.ssh/config", "sub/id_rsa"):
        desk.write(name, "needle\n")
    for name in (".env", "sub/.env", "build/id_rsa", "build/.ssh/config", ".git/x.pem", "odd/[y].pem"):
        desk.write(name, "needle\n")
    desk.write(".gitignore", ".env\nbuild/\nodd/*.pem\n")
    desk.write(".fairleadignore", rules)
    count = len(ODD_NAMES) + 2
    assert await desk.call("search", pattern="needle") == (
        f"a.py:1:needle\n({count} files that look like secrets were omitted; read_file asks the user.)"
    )
    assert "needle" not in await desk.call("search", pattern="needle", path="sub")


async def test_many_secrets_are_counted(desk: Desk) -> None:
    """The count is correct even if there are more secrets than a search names in its arguments."""
    for number in range(250):
        desk.write(f"{number}.pem", "needle\n")
    assert "(250 files that look like secrets" in await desk.call("search", pattern="needle")


async def test_similar_names_include_no_secret(desk: Desk) -> None:
    """The suggestions for a misspelled name omit secrets too."""
    desk.write("server.pem", "x")
    desk.write("server.pen.txt", "x")
    with pytest.raises(ToolError) as error:
        await desk.call("read_file", path="server.pe")
    assert ("server.pen.txt" in str(error.value), "server.pem" in str(error.value)) == (True, False)


async def test_fault_43_harmless_work_asks_nothing(desk: Desk) -> None:
    """docs/faults.md 43: nobody is asked about examples, the agent's own new files, and files that the user opened."""
    desk.write(".env.example", "TOKEN=\n")
    desk.write("tests/server.pem", "for tests\n")
    desk = Desk(desk.path, ScriptedUser("reject"), documents=desk.documents, opened_secrets=["tests/*.pem"])
    assert await desk.call("read_file", path=".env.example") == "TOKEN=\n"
    assert await desk.call("read_file", path="tests/server.pem") == "for tests\n"
    await desk.call("write_file", path=".env.local", content="TOKEN=mine\n")
    assert await desk.call("read_file", path=".env.local") == "TOKEN=mine\n"
    assert desk.user.asked == []


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".GIT/config", "sub/.git/config", "sub/.git"])
async def test_fault_35_the_repository_itself_is_not_edited(desk: Desk, path: str) -> None:
    """docs/faults.md 35: a change in the data of a repository is not even proposed, and the model reads why."""
    desk.write(".git/config", "[core]\n")
    desk.write("a.txt", "a\n")
    for name, given in (
        ("write_file", {"path": path, "content": "x"}),
        ("delete_file", {"path": path}),
        ("rename_file", {"path": "a.txt", "new_path": path}),
        ("rename_file", {"path": path, "new_path": "b.txt"}),
    ):
        with pytest.raises(ToolError, match=r"belongs to the repository itself"):
            await desk.call(name, **given)
    assert not list(desk.files.changes)
    assert Path(desk.path / ".git" / "config").read_text() == "[core]\n"
