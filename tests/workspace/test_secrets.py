"""Which files look like secrets: by their names, and by the workspace's `.fairleadignore`."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.workspace import secrets
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.ripgrep import file_names
from fairlead.workspace.secret_names import globs, is_shipped
from fairlead.workspace.secrets import SecretFinder, Secrets, secret_globs, secret_path_filter
from faults.secret_names import ORDINARY, SECRET, lines

MARKS = ("~", ".bak", ".old", ".1", " (1)", " copy", "_old", ".gz")
# made of what the tables contain, as long as a path can be and longer
LONG = (
    *("a/" * 50_000 + "x", "node_modules/" * 20_000 + "x.pem", "site-packages/a/" * 20_000 + "id_", ".ssh" * 50_000),
    *(".bak" * 50_000, " (1)" * 50_000, ".1" * 50_000, "secret." * 20_000 + "json", "secret_" * 20_000 + ".json"),
)


def touch(root: Path, names: Iterable[str]) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


@pytest.mark.parametrize("name", lines(SECRET))
def test_fault_180_names_of_secrets(tmp_path: Path, name: str) -> None:
    """docs/faults.md 180: names of secrets and of their copies are known, in lower, upper and title case."""
    is_secret = secret_path_filter(tmp_path)
    assert is_secret(name) and is_secret(name.upper()) and is_secret(name.title())


@pytest.mark.parametrize("name", lines(ORDINARY))
def test_fault_43_files_with_similar_names_are_not_secrets(tmp_path: Path, name: str) -> None:
    """docs/faults.md 43: examples, public keys and source files, for instance, are not secrets."""
    assert not secret_path_filter(tmp_path)(name)


@given(st.sampled_from(lines(SECRET)), st.lists(st.sampled_from(MARKS), max_size=3))
def test_fault_180_copies_of_secrets(name: str, marks: list[str]) -> None:
    """docs/faults.md 180: copies of copies too, wherever they are marked. `rg` is asked for all known names."""
    folders, slash, last = name.rpartition("/")
    stem, dot, ending = last.rpartition(".")
    for mark in marks:
        stem, last = stem + mark, last + mark
    is_secret = secret_path_filter(Path("/nowhere"))
    assert is_secret(f"{folders}{slash}{last}")
    inner = f"{folders}{slash}{stem}{dot}{ending}"
    patterns = [pattern.removeprefix("**") for pattern in globs()]
    for path in (f"{folders}{slash}{last}", *([inner] if is_secret(inner) else [])):
        texts = f"/{path}".lower(), path.rpartition("/")[2].lower()
        assert any(fnmatchcase(texts["/" not in each], f"*{each}") for each in patterns), path


async def test_rg_lists_all_secrets(workspace: Path) -> None:
    """The patterns for `rg` match all names that are known, in upper and lower case, also those that Git ignores."""
    names = {name for secret in lines(SECRET) for name in (secret, secret.upper())}
    touch(workspace, names)
    (workspace / ".gitignore").write_text("".join(f"**/{name}\n" for name in ("*.pem", "*.env")))
    assert await file_names(".", workspace, 10_000, secret_globs([workspace])) >= names


@pytest.mark.parametrize("name", LONG)
def test_fault_180_no_name_takes_long(name: str) -> None:
    """docs/faults.md 180: a long name takes no longer than its length explains, whatever it is made of."""
    assert secret_path_filter(Path("/nowhere"))(name) in (True, False)
    assert is_shipped(name) in (True, False)


def test_a_workspace_names_its_own_secrets(tmp_path: Path) -> None:
    """`.fairleadignore` is written like a .gitignore, and adds to the built-in list. A line with `!` undoes others."""
    rules = ["# mine", "", "Private/", "*.plan", "!open.plan", "/only-here.txt"]
    (tmp_path / ".fairleadignore").write_text("\n".join(rules))
    is_secret = secret_path_filter(tmp_path)
    assert all(map(is_secret, ("private/a/b", "x/PRIVATE/c", "a.PLAN", "server.pem", ".env", "only-here.txt")))
    assert not any(map(is_secret, ("a/Open.plan", "sub/only-here.txt", "private", "# mine")))


@pytest.mark.parametrize("rule", ["!.env", "!*", "!**", "!/.env", "*\n!*", "x\n!.env", "!.e[n]v"])
def test_fault_181_a_repository_cannot_open_a_secret(tmp_path: Path, rule: str) -> None:
    """docs/faults.md 181: a line with `!` in `.fairleadignore` undoes only lines of that file."""
    (tmp_path / ".fairleadignore").write_text(f"{rule}\n")
    assert secret_path_filter(tmp_path)(".env")


def test_fault_181_the_user_opens_secrets(tmp_path: Path) -> None:
    """docs/faults.md 181: patterns of the user's setting are relative to the folder, in any case of letters. What
    `.fairleadignore` adds, they do not open.
    """
    (tmp_path / ".fairleadignore").write_text("mine.pem\n")
    is_secret = secret_path_filter(tmp_path, ["Tests/*.pem", ".env.test"])
    assert not any(map(is_secret, ("tests/a.pem", "TESTS/A.PEM", ".env.test", "sub/.env.test")))
    assert all(map(is_secret, ("a.pem", "sub/tests/a.pem", "tests/mine.pem", ".env", ".env.test2")))


@pytest.mark.parametrize("text", ["", " ", "# x", "!.env", "*a*b*c*d*e*f", "x" * 501])
def test_an_unusable_pattern_of_the_user_is_reported(text: str) -> None:
    """The reason says what a pattern is, or why this one is not used. A usable one has no blanks around it."""
    with pytest.raises(ValueError, match=r"\w"):
        secrets.read_pattern(text)
    assert secrets.read_pattern(" tests/*.pem ") == "tests/*.pem"


async def test_fault_180_more_secrets_than_can_be_hidden(workspace: Path) -> None:
    """docs/faults.md 180: no command runs, because it could read the rest. The user can open them."""
    touch(workspace, (f"certs/{number}.pem" for number in range(10_001)))
    with pytest.raises(WorkspaceError, match=r"More than 10,000 files look like secrets.*secrets\.allow"):
        await SecretFinder(workspace).find()
    (workspace / ".env").touch()
    assert (await SecretFinder(workspace, allowed=lambda: ["certs/*.pem"]).find()).names == {".env"}


def test_a_comment_ends_with_its_line(tmp_path: Path) -> None:
    """LF, CR and CRLF end a line. A form feed or a Unicode line separator does not."""
    text = "ours\n# a\f!ours\n# b\u2028!ours\n# c\x85!ours\nmine\r\nyours\rtheirs\n"
    (tmp_path / ".fairleadignore").write_bytes(text.encode())
    assert all(map(secret_path_filter(tmp_path), ("ours", "mine", "yours", "theirs")))


@pytest.mark.parametrize(
    "data", [b"[\n/\n!\n\\\n", b"\xff\xfe\x00\n", b"*a*b*c*d*e*f*g\n", b"x" * 30_000_000, b"**/" * 99]
)
def test_an_unusable_rule_changes_nothing(tmp_path: Path, data: bytes) -> None:
    """A rule has no effect if it is not a pattern, is too large, or would take too long to match."""
    (tmp_path / ".fairleadignore").write_bytes(data)
    is_secret = secret_path_filter(tmp_path)
    assert is_secret(".env")
    assert not is_secret("a" * 200)


@given(st.text())
def test_any_name_has_an_answer(name: str) -> None:
    """A model may send any text as a name."""
    secret_path_filter(Path("/nowhere"))(name)


async def test_the_tokens_of_composer_are_secret_in_each_of_its_packages(workspace: Path) -> None:
    """An `auth.json` beside a `composer.json` is secret, even if the latter is created later. Other files of that name,
    such as translations, are ordinary.
    """
    for name in ("shop/auth.json", "shop/lang/de/auth.json", "later/Auth.json"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).touch()
    (workspace / "shop/composer.json").touch()
    finder = SecretFinder(workspace)
    assert (await finder.find()).names == {"shop/auth.json"}
    (workspace / "later/composer.json").touch()
    assert (await finder.find()).names == {"shop/auth.json", "later/Auth.json"}


async def test_existing_secrets_are_found(workspace: Path) -> None:
    """Ignored secrets and those in hidden folders are found, but not the keys in packages and in `.git`."""
    for name in (
        "a.py",
        ".env",
        "sub/.hidden/日本.pem",
        "private/x",
        "node_modules/a/b.pem",
        ".venv/lib/c.pem",
        ".git/d.key",
    ):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).touch()
    (workspace / ".gitignore").write_text(".env\nprivate/\n")
    (workspace / ".fairleadignore").write_text("private/\n")
    assert (await SecretFinder(workspace).find()).names == {".env", "sub/.hidden/日本.pem", "private/x"}


async def test_links_are_found_by_their_own_names(workspace: Path) -> None:
    """Links count by their own names, and a link to a folder if a folder of that name is secret as a whole."""
    for name in ("config/prod", "keys/mine", "src/a.py", "deep/er/x"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).touch()
    inside = {".env": "config/prod", "deep/er/a.pem": "../../src/a.py", ".ssh": "keys", "id_links": "src", "x": "."}
    outside = {"out.key": "/etc/hostname", ".aws": ".", "plain": "/etc/hostname", "round": "round"}
    for link, end in {**inside, **outside}.items():
        (workspace / link).symlink_to(end)
    found = {".env", "deep/er/a.pem", ".ssh", "out.key", ".aws"}
    assert await SecretFinder(workspace).find() == Secrets(frozenset(found), frozenset({"out.key", ".aws"}))


async def test_each_of_the_usual_secrets_is_found(workspace: Path) -> None:
    """The search of the workspace finds all names that the rules know, in upper and lower case."""
    names = {name for secret in lines(SECRET) for name in (secret, secret.upper())}
    touch(workspace, names)
    touch(workspace / "ordinary", lines(ORDINARY))
    assert (await SecretFinder(workspace).find()).names == names


async def test_folders_of_dependencies_are_searched_once_a_minute(workspace: Path) -> None:
    """Folders of dependencies contain many files. Secrets that were found in them stay known between two searches."""
    now = [0.0]
    finder = SecretFinder(workspace, lambda: now[0])
    (workspace / "node_modules").mkdir()
    (workspace / "node_modules/.env").touch()
    assert (await finder.find()).names == {"node_modules/.env"}
    for name in (".env", "node_modules/.npmrc"):
        (workspace / name).touch()
    now[0] = 59.0
    assert (await finder.find()).names == {"node_modules/.env", ".env"}
    now[0] = 60.0
    assert (await finder.find()).names == {"node_modules/.env", ".env", "node_modules/.npmrc"}
