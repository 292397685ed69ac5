"""Which files look like secrets: by their names, and by the workspace's `.fairleadignore`."""

from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.workspace.secrets import SecretFinder, Secrets, secret_path_filter

SECRETS = """
    .env sub/.env .env.local .env.production key.pem a/b/server.key id_rsa id_ed25519 id_work .npmrc .netrc .pypirc
    cert.p12 cert.pfx pass.kdbx credentials.json client_secret_1.json service-account.json .ssh/config
    home/.aws/credentials .docker/config.json config/secrets.yml prod.tfvars terraform.tfstate .git-credentials
    gha-creds-12.json .kube/config auth.json .codex/auth.json app/release.keystore debug.keystore
"""
ORDINARY = """
    .env.example .env.sample .env.template id_rsa.pub id_map.py src/env.py monkey.py keys/a.txt package.json
    credentials.py .envs secrets/README.md pem .sshx/a x.ssh/a auth.py locales/en/auth.json android/app/debug.keystore
    apps/a/android/app/debug.keystore
"""


@pytest.mark.parametrize("name", SECRETS.split())
def test_the_usual_secrets_are_known(tmp_path: Path, name: str) -> None:
    """The usual names of secrets are known, in lower, upper and title case."""
    is_secret = secret_path_filter(tmp_path)
    assert is_secret(name) and is_secret(name.upper()) and is_secret(name.title())


@pytest.mark.parametrize("name", ORDINARY.split())
def test_fault_43_files_with_similar_names_are_not_secrets(tmp_path: Path, name: str) -> None:
    """docs/faults.md 43: examples, public keys and source files, for instance, are not secrets."""
    assert not secret_path_filter(tmp_path)(name)


def test_a_workspace_names_its_own_secrets(tmp_path: Path) -> None:
    """`.fairleadignore` is written like a .gitignore, and takes precedence over the built-in list. A line with `!`
    makes files ordinary.
    """
    lines = ["# mine", "", "Private/", "*.secret", "!tests/**/*.pem", "!.env.test", "/only-here.txt"]
    (tmp_path / ".fairleadignore").write_text("\n".join(lines))
    is_secret = secret_path_filter(tmp_path)
    assert all(map(is_secret, ("private/a/b", "x/PRIVATE/c", "a.SECRET", "server.pem", ".env", "only-here.txt")))
    assert not any(map(is_secret, ("tests/certs/server.pem", ".env.test", "sub/only-here.txt", "private", "# mine")))


def test_a_comment_ends_with_its_line(tmp_path: Path) -> None:
    """LF, CR and CRLF end a line. A form feed or a Unicode line separator does not."""
    text = "# a\f!.env\n# b\u2028!.env\n# c\x85!.env\nmine\r\nyours\rtheirs\n"
    (tmp_path / ".fairleadignore").write_bytes(text.encode())
    assert all(map(secret_path_filter(tmp_path), (".env", "mine", "yours", "theirs")))


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
    names = {name for secret in SECRETS.split() for name in (secret, secret.upper())}
    for name in names:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).touch()
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
