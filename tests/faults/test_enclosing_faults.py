"""Cases of docs/faults.md about a workspace inside a repository: commands see the rest of it, without its secrets."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.session.guarded_files import GuardedFiles, enclosing_tops, guarded_view
from fairlead.shell.layer import View
from fairlead.workspace.paths import Roots
from shell.boxes import boxes, on_disk, write
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")

TOKEN = '[remote "o"]\n  url = https://HUNTER@example.org/x\n[http]\n  extraHeader = Authorization: HUNTER\n'
# files around the workspace, which is `pkg/app`; an arrow means a link
SECRETS = {
    "in a sibling package": {"pkg/lib/.env": "HUNTER", "pkg/lib/id_rsa": "HUNTER", "pkg/lib/.aws/x": "HUNTER"},
    "at the top": {".env": "HUNTER", ".env.local": "HUNTER", ".npmrc": "HUNTER", "a.tfstate": "HUNTER"},
    "ignored": {".gitignore": "*.json\n", "deploy/service-account.json": "HUNTER"},
    "in dependencies": {"node_modules/.env": "HUNTER", "node_modules/a/.npmrc": "HUNTER", ".venv/id_rsa": "HUNTER"},
    "by a rule at the top": {".fairleadignore": "plans/\n", "plans/x.txt": "HUNTER"},
    "by a link in the workspace": {"conf/live.txt": "HUNTER", "pkg/app/.env": "-> ../../conf/live.txt"},
    "by a linked folder in the workspace": {"conf/all/x": "HUNTER", "pkg/app/.aws": "-> ../../conf/all"},
    "by a link in a sibling package": {"conf/live.txt": "HUNTER", "pkg/lib/.env": "-> ../../conf/live.txt"},
    "by a link out of the repository": {"../beside/live.txt": "HUNTER", "pkg/lib/.env": "-> ../../../beside/live.txt"},
    "in the repository": {".git/config": TOKEN},
    "in an included file": {".git/config": "[include]\n  path = ../team.cfg\n", "team.cfg": TOKEN},
    "in a nested repository": {"vendor/x/.git/HEAD": "", "vendor/x/.git/config": TOKEN},
    "in a nested bare repository": {
        **dict.fromkeys(("vendor/y/HEAD", "vendor/y/objects/x", "vendor/y/refs/x"), ""),
        "vendor/y/config": TOKEN,
    },
    "in a submodule": {
        **dict.fromkeys((".git/modules/s/HEAD", ".git/modules/s/objects/x", ".git/modules/s/refs/x"), ""),
        ".git/modules/s/config": TOKEN,
        "s/.git": "gitdir: ../.git/modules/s\n",
    },
}


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def guarded(workspace: Path) -> View:
    return await guarded_view(Roots.of(workspace), lambda root: GuardedFiles(root.path))


def make(top: Path, files: dict[str, str]) -> None:
    """Creates a repository with a workspace in `pkg/app` and these files."""
    write(top / "pkg/app", {"a.txt": "a\n"})
    write(top, {"pkg/lib/b.txt": "SHOWN\n"})
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    subprocess.run(["git", "-C", str(top), "add", "pkg/app/a.txt"], check=True)
    own = (top / ".git/config").read_text()
    write(top, {name: text for name, text in files.items() if not text.startswith("-> ")})
    if ".git/config" in files:
        (top / ".git/config").write_text(own + files[".git/config"])
    for name, text in files.items():
        if text.startswith("-> "):
            (top / name).symlink_to(text.removeprefix("-> "))


@pytest.mark.parametrize("case", SECRETS)
async def test_fault_109_a_secret_in_the_rest_of_the_repository_is_hidden(tmp_path: Path, case: str) -> None:
    """docs/faults.md 109: commands cannot read it in any way; other files can be read, and nothing changes."""
    top = tmp_path / "mono"
    make(top, SECRETS[case])
    before = on_disk(top)
    async with boxes(top / "pkg/app", tmp_path / "state") as box:
        view = await guarded(top / "pkg/app")
        ways = f"grep -rhs HUNTER {top} ../.. /proc/self/root{top} /proc/1/root{top} . ../lib/.env .env; git config -l"
        ran = await box.run(f"{ways}; cat ../lib/b.txt; cd ../..; git config -l; git status --short", view)
        assert "SHOWN" in ran.output
        assert (ran.code, "HUNTER" in ran.output) == (0, False), ran.output
        files = " ".join(str(top / name) for name in SECRETS[case])
        move = f"for f in {files}; do mv $f $f.txt; cp $f $f.txt; ln $f $f.txt; chmod 777 $f; cat $f $f.txt; done"
        assert "HUNTER" not in (await box.run(f"{move}; mv ../lib ../l; grep -rhs HUNTER ../..", view)).output
    assert on_disk(top) == before


async def check_not_shown(top: Path, state: Path) -> None:
    """Checks that a command sees nothing of the repository except the workspace."""
    async with boxes(top / "pkg/app", state) as box:
        view = await guarded(top / "pkg/app")
        assert list(view.enclosing) == []
        ran = await box.run("cat a.txt; cat ../lib/b.txt; grep -rs HUNTER ../..", view)
        assert ran.output.startswith("a\n")
        assert not {"HUNTER", "SHOWN"} & set(re.split(r"\W", ran.output))


MANY: dict[str, list[str]] = {
    "in a sibling package": [f"pkg/lib/{number}.pem" for number in range(301)],
    "in dependencies": [f"node_modules/a/.env.{number}" for number in range(301)],
}


@pytest.mark.parametrize("case", MANY)
async def test_fault_109_more_secrets_than_can_be_hidden(tmp_path: Path, case: str) -> None:
    """docs/faults.md 109: such a repository is not shown."""
    top = tmp_path / "mono"
    make(top, dict.fromkeys(MANY[case], "HUNTER"))
    assert list((await guarded(top / "pkg/app")).enclosing) == []
    await check_not_shown(top, tmp_path / "state")
    (top / MANY[case][0]).unlink()
    fewer = await guarded(top / "pkg/app")
    assert [len(around.hidden) for around in fewer.enclosing.values()] == [300]


async def test_fault_109_the_workspace_is_searched_only_once(tmp_path: Path) -> None:
    """docs/faults.md 109: by its own rules. The search around it leaves it out, until it is closed."""
    top = tmp_path / "mono"
    make(top, dict.fromkeys(("pkg/app/.env", "pkg/app/node_modules/.env", "pkg/lib/.env"), ""))
    around = GuardedFiles(top)
    for apart, hidden in [
        ({"pkg/app"}, {"pkg/lib/.env"}),
        (set[str](), {"pkg/app/.env", "pkg/app/node_modules/.env", "pkg/lib/.env"}),
        ({"pkg/app", "pkg/lib"}, set[str]()),
    ]:
        assert (await around.view(apart)).hidden == hidden
    many = dict.fromkeys((f"pkg/app/{number}.pem" for number in range(10_001)), "")
    write(top, many)
    shown = await around.view({"pkg/app"})
    assert shown.hidden == {"pkg/lib/.env"}, "more files than can be hidden do not count either"


async def test_fault_109_secrets_that_a_sibling_package_names(tmp_path: Path) -> None:
    """docs/faults.md 109: the rules of a sibling package do not apply, so a repository that needs them is hidden."""
    top = tmp_path / "mono"
    rules = {"pkg/lib/.fairleadignore": "# none yet\n!a.pem\n", "pkg/app/.fairleadignore": "plans/\n"}
    make(top, {**rules, "pkg/lib/plans/x.txt": "HUNTER"})
    found = {root: GuardedFiles(root) for root in (top, top / "pkg/app")}

    async def shown() -> list[Path]:
        view = await guarded_view(Roots.of(top / "pkg/app"), lambda root: found[root.path])
        return list(view.enclosing)

    assert await shown() == [top], "the counterpart: rules that hide nothing, or that are the workspace's"
    (top / "pkg/lib/.fairleadignore").write_text("plans/\n")
    assert await shown() == []
    await check_not_shown(top, tmp_path / "state")


async def test_fault_109_more_repositories_than_can_be_read(tmp_path: Path) -> None:
    """docs/faults.md 109: such a repository is not shown, and no token of the workspace or of its repository is."""
    top = tmp_path / "mono"
    nested = {f"vendor/{number}/.git/{name}": "x" for number in range(1_010) for name in ("HEAD", "config")}
    make(top, {**nested, ".git/config": TOKEN, "pkg/app/inner/.git/HEAD": "", "pkg/app/inner/.git/config": TOKEN})
    async with boxes(top / "pkg/app", tmp_path / "state") as box:
        view = await guarded(top / "pkg/app")
        ran = await box.run("cat ../lib/b.txt; cat inner/.git/config; cat ../../.git/config", view)
        assert "repositoryformatversion" in ran.output
        assert not {"SHOWN", "HUNTER"} & set(re.split(r"\W", ran.output))


async def test_fault_109_a_secret_that_appears_later_is_hidden(tmp_path: Path) -> None:
    """docs/faults.md 109: the next command cannot read it, even where an earlier one left ignored files."""
    top = tmp_path / "mono"
    make(top, {".gitignore": "out/\n", "out/old": ""})
    found = {root: GuardedFiles(root) for root in (top, top / "pkg/app")}

    async def view() -> View:
        return await guarded_view(Roots.of(top / "pkg/app"), lambda root: found[root.path])

    async with boxes(top / "pkg/app", tmp_path / "state") as box:
        await box.output("echo x > ../../out/left; mkdir ../../out/deep; echo y > ../../out/deep/left", await view())
        write(top, dict.fromkeys(("pkg/lib/.env", "out/.env", "out/deep/.env", "new/.netrc"), "HUNTER\n"))
        ran = await box.run("cat ../../out/left; cat ../lib/.env; grep -rhs HUNTER ../..", await view())
        assert ran.output == "x\n# hidden by Fairlead\n"


async def test_fault_109_links_do_not_hide_the_workspace(tmp_path: Path) -> None:
    """docs/faults.md 109: files stay readable if links named like secrets lead to them or to folders around them."""
    top = tmp_path / "mono"
    make(top, {"pkg/lib/.aws": "-> ../../pkg", "pkg/app/.ssh": "-> ../..", "pkg/lib/.env": "-> ../app/a.txt"})
    async with boxes(top / "pkg/app", tmp_path / "state") as box:
        assert await box.output("cat a.txt ../lib/b.txt", await guarded(top / "pkg/app")) == "a\nSHOWN\n"


async def test_fault_109_the_workspaces_rules_apply_to_its_own_files(tmp_path: Path) -> None:
    """docs/faults.md 109: what a rule of the workspace hides stays readable in the rest of the repository."""
    top = tmp_path / "mono"
    make(top, {"plans": "SHOWN\n", "pkg/app/plans": "HUNTER", "pkg/app/.fairleadignore": "plans\n"})
    async with boxes(top / "pkg/app", tmp_path / "state") as box:
        ran = await box.run("cat ../../plans plans", await guarded(top / "pkg/app"))
        assert ran.output == "SHOWN\ncat: plans: Permission denied\n"


def false_git_file(top: Path) -> None:
    """Moves the repository's `.git` folder elsewhere and leaves a `.git` file that names it."""
    os.rename(top / ".git", top.parent / "store")
    (top / ".git").write_text(f"gitdir: {top.parent / 'store'}\n")


def linked_git(top: Path) -> None:
    os.rename(top / ".git", top.parent / "store")
    (top / ".git").symlink_to(top.parent / "store")


def other_owner(top: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(top, 12345, 12345)


def other_owner_of_git(top: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(top / ".git", 12345, 12345)


def git(top: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(top), *arguments], check=True)


def untracked(top: Path) -> None:
    """Leaves in the index only the package next to the workspace, and one whose name begins with the workspace's."""
    git(top, "rm", "-q", "--cached", "pkg/app/a.txt")
    write(top, {"pkg/app2/a.txt": ""})
    git(top, "add", "pkg/app2", "pkg/lib")


def home_inside(top: Path) -> None:
    (top / "home").mkdir()
    os.environ["HOME"] = str(top / "home")


NOT_THE_PROJECT: dict[str, Callable[[Path], object]] = {
    "everyone may write to it": lambda top: top.chmod(0o777),
    "sticky like /tmp": lambda top: top.chmod(0o1777),
    "another owner": other_owner,
    "another owner of its .git": other_owner_of_git,
    "a false .git file": false_git_file,
    "a .git link": linked_git,
    "the home": lambda top: os.environ.update(HOME=str(top)),
    "around the home": home_inside,
    "settings in the home": lambda top: os.environ.update(HOME=str(top.parents[1])),
    "it does not track the workspace": untracked,
    "no index": lambda top: (top / ".git/index").unlink(),
    "it ignores the workspace": lambda top: write(top, {".gitignore": "pkg/\n"}),
}


@pytest.mark.parametrize("case", NOT_THE_PROJECT)
async def test_fault_110_a_repository_that_is_not_the_users_project(tmp_path: Path, case: str) -> None:
    """docs/faults.md 110: a command sees nothing of it except the workspace."""
    top = tmp_path / ".config/mono" if case == "settings in the home" else tmp_path / "mono"
    make(top, {"private.txt": "HUNTER"})
    assert list((await guarded(top / "pkg/app")).enclosing) == [top], "it must be visible before the case applies"
    NOT_THE_PROJECT[case](top)
    view = await guarded(top / "pkg/app")
    assert list(view.enclosing) == []
    async with boxes(top / "pkg/app", tmp_path / "state") as box:
        ran = await box.run("cat a.txt; cat ../lib/b.txt ../../private.txt", view)
        assert ran.output.startswith("a\n")
        assert not {"HUNTER", "SHOWN"} & set(ran.output.split())


async def test_fault_110_a_workspace_that_was_removed(tmp_path: Path) -> None:
    """docs/faults.md 110: no repository is found around it, and the search raises no error."""
    make(tmp_path / "mono", {})
    shutil.rmtree(tmp_path / "mono/pkg/app")
    assert enclosing_tops(Roots.of(tmp_path / "mono/pkg/app")) == []
