"""A workspace with several folders: names, paths, and folders that are added and removed."""

from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from fairlead.edits.origins import Author
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import PathEscape, Roots
from fairlead.workspace.protected import Protections
from fairlead.workspace.secrets import secret_name_filter
from tools.stand_ins import Documents


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two workspace folders and a folder outside of them, each with a file of the same name."""
    api, web = tmp_path / "api", tmp_path / "web"
    for folder in (api, web, tmp_path / "other"):
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "main.py").write_text(folder.name)
    return api, web


@pytest.fixture
def roots(folders: tuple[Path, Path]) -> Roots:
    return Roots.of(*folders)


def test_a_path_begins_with_the_name_of_its_folder(roots: Roots, folders: tuple[Path, Path]) -> None:
    """Files with the same name have different paths, and each path leads back to its file."""
    api, web = folders
    for folder in folders:
        name = f"{folder.name}/src/main.py"
        assert roots.resolve(name) == roots.resolve(f"./{name}") == folder / "src" / "main.py"
        assert roots.relative(folder / "src" / "main.py") == name
        assert roots.resolve(str(folder / "src" / "main.py")) == folder / "src" / "main.py"
    assert (roots.resolve("api"), roots.relative(web)) == (api, "web")
    assert roots.resolve("api/../web/src") == web / "src"
    assert roots.split("web/src/main.py") == (roots.folders[1], "src/main.py")


@pytest.mark.parametrize("name", ["src/main.py", "main.py", ".", "", "other/src/main.py", "API/src/main.py", "apis"])
def test_a_path_without_a_folder_name_is_an_error_that_lists_the_folders(roots: Roots, name: str) -> None:
    """The error lists the folders so that the model can correct itself."""
    with pytest.raises(WorkspaceError, match=r"does not begin with the name of a folder.* with one of: api, web\.$"):
        roots.resolve(name)


@pytest.mark.parametrize(
    "name", ["..", "../api/x", "api/../../other/x", "/etc/passwd", "{top}", "{top}/other/src/main.py"]
)
def test_fault_32_a_path_outside_of_all_folders_is_refused(roots: Roots, tmp_path: Path, name: str) -> None:
    """docs/faults.md 32: including paths to a folder beside the folders of the workspace."""
    with pytest.raises(PathEscape):
        roots.resolve(name.format(top=tmp_path))


def test_fault_33_a_link_may_lead_to_another_folder_but_not_outside(roots: Roots, folders: tuple[Path, Path]) -> None:
    """docs/faults.md 33: a file that is reached through the link is named by its path in the other folder."""
    api, web = folders
    (api / "to-web").symlink_to(web)
    (api / "out").symlink_to(api.parent / "other")
    assert roots.relative(roots.resolve("api/to-web/src/main.py")) == "web/src/main.py"
    with pytest.raises(PathEscape):
        roots.resolve("api/out/src/main.py")


PARTS = st.sampled_from(["api", "web", "..", ".", "src", "main.py", "out", "in", "/", "other", ""])


@given(st.lists(PARTS, max_size=7).map("/".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_fault_32_33_no_combination_leads_out(roots: Roots, folders: tuple[Path, Path], given: str) -> None:
    """docs/faults.md 32 and 33: a path that is not refused is in one of the folders, and its name resolves to it."""
    for name, target in (("in", "../web/src"), ("out", "../other")):
        link = folders[0] / name
        if not link.is_symlink():
            link.symlink_to(target)
    try:
        path = roots.resolve(given)
    except WorkspaceError:
        return
    assert any(path.resolve().is_relative_to(folder) for folder in folders)
    assert roots.resolve(roots.relative(path)) == path


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["", ""], ["api", "web"]),
        (["backend", "Web UI"], ["backend", "Web UI"]),
        (["..", "."], ["api", "web"]),
        (["a/b", "a\\b"], ["a-b", "a-b-2"]),
        (["same", "SAME"], ["same", "SAME-2"]),
        (["web", ""], ["web", "web-2"]),
        (["C:", "x\0\u202e\ud800y"], ["C-", "x---y"]),
        (["/", "  "], ["api", "web"]),
        (["n" * 5000, ""], ["n" * 100, "web"]),
    ],
)
def test_names_are_unique_and_safe_in_paths(folders: tuple[Path, Path], given: list[str], names: list[str]) -> None:
    """Whatever the editor calls its folders, each name resolves to its own folder."""
    roots = Roots().with_folders(list(zip(folders, given, strict=True)))
    assert [root.name for root in roots.folders] == names
    assert [roots.resolve(name) for name in names] == list(folders)


def test_a_folder_inside_another_one_owns_its_files(tmp_path: Path) -> None:
    """A file in the inner folder has only one name, even if it is given by its path in the outer folder."""
    outer, inner = tmp_path / "mono", tmp_path / "mono" / "pkg"
    inner.mkdir(parents=True)
    roots = Roots.of(outer, inner)
    assert roots.relative(roots.resolve("mono/pkg/a.py")) == roots.relative(inner / "a.py") == "pkg/a.py"
    assert list(roots.names_in(roots.folders[0], ["a.py", "pkg/a.py", "pkg2/a.py"])) == [
        ("mono/a.py", "a.py"),
        ("mono/pkg2/a.py", "pkg2/a.py"),
    ]


def test_a_link_to_a_folder_counts_as_that_folder(folders: tuple[Path, Path]) -> None:
    """If the folder and the link counted as two folders, a file would have two names, and two proposals."""
    api, web = folders
    link = api.parent / "link"
    link.symlink_to(api)
    assert Roots.of(api, link).paths == [api]
    assert not Roots.of(api, link, api).has_names
    assert Roots.of(link, web).relative(Roots.of(link, web).resolve(f"{api}/src/main.py")) == "link/src/main.py"


def test_folder_names_do_not_change_when_folders_are_added_and_removed(folders: tuple[Path, Path]) -> None:
    """A name that the model knows keeps its meaning; no other folder gets the name of a removed one."""
    api, web = folders
    one = Roots.of(api)
    assert one.relative(api / "a.py") == "a.py"
    both = one.with_folders([(api, ""), (web, "")])
    left = both.with_folders([(web, "")])
    assert (left.has_names, left.relative(web / "a.py")) == (True, "web/a.py")
    with pytest.raises(WorkspaceError, match="The folder api is not part of the workspace anymore"):
        left.resolve("api/src/main.py")
    other = left.with_folders([(web, ""), (api.parent / "other", "api")])
    assert [root.name for root in other.folders] == ["web", "api-2"]
    again = other.with_folders([(api, "changed"), (web, "changed")])
    assert [root.name for root in again.folders] == ["api", "web"]
    assert again == both
    none = both.with_folders([])
    assert none.relative(api / "a.py") == str(api / "a.py")
    with pytest.raises(WorkspaceError):
        none.resolve("api/a.py")


def test_each_folder_has_its_own_rules_for_secrets(roots: Roots, folders: tuple[Path, Path]) -> None:
    """A `.fairleadignore` applies only to its own folder."""
    (folders[0] / ".fairleadignore").write_text("/src/main.py\n")
    is_secret = secret_name_filter(roots)
    assert [is_secret(f"{name}/src/main.py") for name in ("api", "web")] == [True, False]
    assert is_secret("web/.env")


async def test_the_rules_of_an_outer_folder_apply_to_an_inner_one(tmp_path: Path) -> None:
    """A file is secret or protected if it is so under its name in either of the folders."""
    outer, inner = tmp_path / "mono", tmp_path / "mono" / "pkg"
    (inner / "hooks").mkdir(parents=True)
    (outer / ".git").mkdir()
    (outer / ".git" / "config").write_text("[core]\n\thooksPath = pkg/hooks\n")
    (outer / ".fairleadignore").write_text("/pkg/plain.txt\n")
    roots = Roots.of(outer, inner)
    is_secret = secret_name_filter(roots)
    assert [is_secret(name) for name in ("pkg/plain.txt", "pkg/other.txt", "mono/plain.txt")] == [True, False, False]
    files = Files(roots, Documents())
    for name in ("pkg/hooks/pre-commit", "pkg/a.py"):
        await files.propose(roots.resolve(name), "x\n", Author())
    assert Protections().of(roots, files.changes).keys() == {str(inner / "hooks" / "pre-commit")}
    assert Protections().of(Roots.of(inner), files.changes) == {}


async def test_the_repository_of_a_folder_cannot_be_edited_through_another_one(tmp_path: Path) -> None:
    """A repository's own files cannot be edited, even if the user opened a part of it as a folder of the workspace."""
    (tmp_path / "ws" / ".git" / "hooks").mkdir(parents=True)
    files = Files(Roots.of(tmp_path / "ws", tmp_path / "ws" / ".git" / "hooks"), Documents())
    with pytest.raises(WorkspaceError, match="belongs to the repository itself"):
        await files.propose(files.roots.resolve("hooks/pre-commit"), "x\n", Author())


async def test_a_folder_of_the_workspace_may_have_the_name_of_a_protected_one(tmp_path: Path) -> None:
    """The folder keeps its name, and the name alone protects no file in it."""
    for name in (".vscode", "other"):
        (tmp_path / name).mkdir()
    files = Files(Roots.of(tmp_path / ".vscode", tmp_path / "other"), Documents())
    assert files.roots.folders[0].name == ".vscode"
    await files.propose(files.roots.resolve(".vscode/notes.txt"), "x\n", Author())
    assert Protections().of(files.roots, files.changes) == {}
