"""The files of commits, as records are compared with them (docs/record.md, Commits)."""

import os
from pathlib import Path

import pytest

from fairlead.session.record.repository import GitFailed, Repository
from support.git_folder import GitFolder, entry


@pytest.fixture
def folder(tmp_path: Path) -> GitFolder:
    return GitFolder(tmp_path / "repository")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    return path


def files(tree: Path) -> dict[str, bytes | str]:
    """The content of each file, and the target of each link."""
    found = (path for path in tree.rglob("*") if path.is_symlink() or path.is_file())
    return {
        path.relative_to(tree).as_posix(): f"-> {os.readlink(path)}" if path.is_symlink() else path.read_bytes()
        for path in found
    }


def test_an_export_has_the_bytes_that_git_stores(folder: GitFolder, tree: Path) -> None:
    """Attributes that convert, leave out or fill in what a checkout gets change nothing."""
    wanted: dict[str, bytes | str] = {
        ".gitattributes": b"*.txt text eol=crlf\n*.bin export-ignore\n*.sub export-subst ident\n*.lfs filter=lfs\n",
        "a.txt": b"one\ntwo\n",
        "a.bin": b"\0\xff",
        "a.sub": b"$Format:%H$ $Id$\n",
        "dir/\u4e16 \u754c": b"",
        'quo"te\n': b"x",
        "link": "-> ../elsewhere",
        "big.lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 1\n",
    }
    for name, content in wanted.items():
        path = folder.path / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content.removeprefix("-> "))
        else:
            path.write_bytes(content)
    (folder.path / "a.bin").chmod(0o755)
    commit = folder.commit()
    (folder.path / "a.txt").write_bytes(b"not committed")
    exported = Repository(folder.path).export(commit, tree)
    assert files(tree) == wanted
    assert [name for name in wanted if os.access(tree / name, os.X_OK)] == ["a.bin"]
    assert (exported.pointers, exported.submodules) == ({"big.lfs": "a" * 64}, [])
    assert folder.git("status", "--porcelain", "--", "a.bin") == ""


def test_a_replaced_object_is_not_used(folder: GitFolder, tree: Path) -> None:
    """A commit is what its id says, whatever `git replace` shows in its place."""
    (folder.path / "a").write_text("real\n")
    commit = folder.commit()
    real = folder.git("rev-parse", "HEAD:a")
    folder.git("replace", real, folder.blob(b"other\n"))
    assert folder.git("show", "HEAD:a") == "other"
    Repository(folder.path).export(commit, tree)
    assert files(tree) == {"a": b"real\n"}


def test_a_text_like_a_pointer_is_no_pointer_without_the_attribute(folder: GitFolder, tree: Path) -> None:
    """docs/faults.md 317: a file cannot be replaced by a pointer to what it was, unless Git LFS brings it back."""
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 1\n"
    (folder.path / ".gitattributes").write_text("*.lfs filter=lfs\n*.not -filter\n")
    for name in ("a.py", "a.not", "a.lfs"):
        (folder.path / name).write_text(pointer)
    assert Repository(folder.path).export(folder.commit(), tree).pointers == {"a.lfs": "a" * 64}


def test_submodules_are_named(folder: GitFolder, tree: Path) -> None:
    folder.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib/other")
    folder.git("commit", "-q", "-m", "With a submodule")
    assert Repository(folder.path).export("HEAD", tree).submodules == ["lib/other"]
    assert (tree / "lib" / "other").is_dir()


@pytest.mark.parametrize("name", [b"..", b".git", b".GIT", b"."])
def test_fault_316_a_tree_that_leads_elsewhere_is_refused(folder: GitFolder, tree: Path, name: bytes) -> None:
    """docs/faults.md 316: nothing is written outside of the temporary folder, or through a link of the commit."""
    commit = folder.commit_tree(entry("100644", name, folder.blob(b"x")))
    with pytest.raises(GitFailed, match="which is none of a file in a repository"):
        Repository(folder.path).export(commit, tree)
    assert files(tree) == {}


def test_fault_316_a_link_is_not_followed(folder: GitFolder, tree: Path, tmp_path: Path) -> None:
    """docs/faults.md 316: a tree that has a link and a folder of one name writes nothing through the link."""
    outside = tmp_path / "outside"
    outside.mkdir()
    link, inner = folder.blob(os.fsencode(outside)), folder.blob(b"target")
    below = folder.git("mktree", given=f"120000 blob {inner}\tb\n".encode())
    commit = folder.commit_tree(entry("120000", b"a", link), entry("40000", b"a", below))
    with pytest.raises(GitFailed, match="below a link"):
        Repository(folder.path).export(commit, tree)
    assert list(outside.iterdir()) == []
    harmless = folder.commit_tree(entry("120000", b"a", link), entry("40000", b"b", below))
    (tree / "a").unlink()
    Repository(folder.path).export(harmless, tree)
    assert files(tree) == {"a": f"-> {outside}", "b/b": "-> target"}


def test_revisions_and_folders_that_do_not_exist(folder: GitFolder, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(GitFailed, match="cannot be used as a Git repository"):
        Repository(tmp_path / "none")
    repository = Repository(folder.path)
    for revision in ("HEAD", "nothing", "--all", ""):
        with pytest.raises(GitFailed, match=f"There is no commit “{revision}”"):
            repository.commit_id(revision)
    commit = folder.commit()
    folder.git("tag", "-a", "v1", "-m", "v1")
    assert {repository.commit_id(each) for each in ("HEAD", "v1", "main", commit[:12])} == {commit}


def test_only_trailers_name_records(folder: GitFolder) -> None:
    """A line within the message names nothing."""
    message = "Subject\n\nFairlead-Record: sha256:1\nis only text.\n\nSigned-off-by: a\nFairlead-Record: sha256:2\n"
    commit = folder.commit(message + "fairlead-record: sha256:3\n")
    assert Repository(folder.path).named_records(commit) == ["sha256:2", "sha256:3"]
    assert Repository(folder.path).named_records(folder.commit("Nothing")) == []


def test_the_files_that_a_commit_changes(folder: GitFolder) -> None:
    """Compared with the first parent: what was added, changed, moved, deleted, or made executable."""
    for name in ("changed", "moved", "deleted", "mode", "same"):
        (folder.path / name).write_text(name)
    repository, first = Repository(folder.path), folder.commit()
    assert repository.changed_files(first) == ["changed", "deleted", "mode", "moved", "same"]
    (folder.path / "changed").write_text("x")
    (folder.path / "moved").rename(folder.path / "to \n there")
    (folder.path / "deleted").unlink()
    (folder.path / "mode").chmod(0o755)
    assert repository.changed_files(folder.commit()) == ["changed", "deleted", "mode", "moved", "to \n there"]
    assert repository.changed_files(folder.commit()) == []


def test_a_note_holds_the_bytes(folder: GitFolder) -> None:
    commit, repository = folder.commit(), Repository(folder.path)
    assert repository.note(commit) is None
    folder.git("config", "user.name", "a")
    folder.git("config", "user.email", "a@example.com")
    for data in (b'{\n\n\n  "a": 1 }  \n\n', b"second"):
        repository.add_note(commit, data)
        assert repository.note(commit) == data
