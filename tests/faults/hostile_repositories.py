"""Repositories that are made to hang an agent or to use up the machine, as an archive or a clone may contain them.

Each function makes one in a folder that already contains `a.txt` with the line `hello` and a repository without
commits. In each, the agent must be able to work with `a.txt` (test_hostile_repositories.py).
"""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

Make = Callable[[Path], object]

TERABYTE = 1 << 40


def _link(name: str, target: str) -> Make:
    def make(root: Path) -> None:
        path = _above(root, name)
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    return make


def _pipe(name: str) -> Make:
    def make(root: Path) -> None:
        path = _above(root, name)
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    return make


def _sparse(name: str, size: int = TERABYTE) -> Make:
    def make(root: Path) -> None:
        with _above(root, name).open("wb") as file:
            file.truncate(size)

    return make


def _text(name: str, text: str | bytes) -> Make:
    def make(root: Path) -> None:
        _above(root, name).write_bytes(text.encode() if isinstance(text, str) else text)

    return make


def _folder(name: str) -> Make:
    return lambda root: (root / name).mkdir(parents=True)


def _all(*makes: Make) -> Make:
    return lambda root: [make(root) for make in makes]


def _above(root: Path, name: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _deep(root: Path) -> None:
    """Folders in folders, beyond the longest path that a system call takes."""
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("deep", dir_fd=descriptor)
        inner = os.open("deep", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


def _many_files(root: Path) -> None:
    for folder in range(30):
        (root / f"f{folder}").mkdir()
        for number in range(1000):
            (root / f"f{folder}" / f"{number}.txt").touch()


def _many_secrets(root: Path) -> None:
    for number in range(5000):
        (root / f".env.{number}").touch()


def _many_repositories(root: Path) -> None:
    for number in range(500):
        _text(f"r{number}/.git", "gitdir: ../r0/.git\n")(root)


def _nested_rules(root: Path) -> None:
    for _ in range(200):
        root /= "d"
        root.mkdir()
        (root / "AGENTS.md").write_text("x" * 20_000)


def _chain_of_links(root: Path) -> None:
    (root / "l0").symlink_to("a.txt")
    for number in range(1, 3000):
        (root / f"l{number}").symlink_to(f"l{number - 1}")


def _socket(root: Path) -> None:
    before = Path.cwd()
    os.chdir(root)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("s.sock")
    finally:
        os.chdir(before)


def _odd_names(root: Path) -> None:
    names = [
        b"-rf",
        b"$(touch x)",
        b"`touch x`",
        b"a\nb",
        b"a\rb",
        b"\xff\xfe",
        b"\x1b]0;x\x07",
        "\u202etxt.exe".encode(),
    ]
    names += [
        b"n" * 255,
        b"*",
        b"'",
        b'"',
        b" ",
        b"CON",
        b"a;b",
        b"a&b",
        b"%s%n",
        b"--help",
        b"~",
        b"\\",
        b"\x7f",
        b"@{u}",
    ]
    for name in names:
        (Path(os.fsdecode(os.fsencode(root) + b"/" + name))).write_bytes(b"odd\n")


GLOBS = "\n".join(f"{'{a,b}' * 8}{number}*" for number in range(20_000))
SLOW = "\n".join(["*a" * 200 + "b", "**/" * 100 + "x", "[a-" * 50, "(" * 1000, "\\" * 999, "{" * 500 + "}" * 500])
LOOP = "[include]\n\tpath = config\n[core]\n\trepositoryformatversion = 0\n"
PROGRAMS = """[core]
\tfsmonitor = touch pwned
\tsshCommand = touch pwned
\teditor = touch pwned
\tpager = touch pwned
\thooksPath = hooks
\tworktree = /
[diff "x"]
\ttextconv = touch pwned
[filter "x"]
\tclean = touch pwned
\tsmudge = touch pwned
[alias]
\tstatus = !touch pwned
"""

REPOSITORIES: dict[str, Make] = {
    **{
        f"{name} is {what}": make(name)
        for name in (".gitignore", ".ignore", "sub/.gitignore", "sub/.rgignore", ".git/info/exclude", ".gitattributes")
        for what, make in {
            "endless": lambda name: _link(name, "/dev/zero"),
            "a pipe": _pipe,
            "a terabyte": _sparse,
        }.items()
    },
    **{
        f"{name} is {what}": make(name)
        for name in ("AGENTS.md", ".fairleadignore", "package.json")
        for what, make in {
            "endless": lambda name: _link(name, "/dev/zero"),
            "a pipe": _pipe,
            "a terabyte": _sparse,
        }.items()
    },
    **{
        f"{name} is {what}": make(name)
        for name in (".git/HEAD", ".git/config", ".git/index")
        for what, make in {"endless": lambda name: _link(name, "/dev/zero"), "a pipe": _pipe}.items()
    },
    "rules of a million letters": _text(".gitignore", GLOBS),
    "slow rules": _text(".gitignore", SLOW),
    "slow rules for secrets": _text(".fairleadignore", SLOW),
    "rules that are no text": _text(".gitignore", os.urandom(100_000)),
    "a setting that includes itself": _text(".git/config", LOOP),
    "a setting that includes an endless file": _text(".git/config", "[include]\n\tpath = /dev/zero\n"),
    "settings that run programs": _all(_text(".git/config", PROGRAMS), _text(".gitattributes", "* filter=x diff=x\n")),
    "settings of ten megabytes": _text(".git/config", "[a]\n" + "\tb = c\n" * 1_400_000),
    "hooks": _all(
        *(_text(f".git/hooks/{name}", "#!/bin/sh\ntouch pwned\n") for name in ("pre-commit", "post-checkout"))
    ),
    "a submodule outside": _text(".gitmodules", '[submodule "x"]\n\tpath = ../..\n\turl = ext::touch pwned\n'),
    "a submodule that is its parent": _all(_folder("m"), _text("m/.git", "gitdir: ../.git\n")),
    "a repository that leads to itself": _text("m/.git", "gitdir: .git\n"),
    "a repository that leads to an endless file": _text("m/.git", "gitdir: /dev/zero\n"),
    "a repository that is endless": _link("m/.git", "/dev/zero"),
    "a repository that is a pipe": _pipe("m/.git"),
    "a repository that is a terabyte": _sparse("m/.git"),
    "its own repository is a terabyte": _all(lambda root: shutil.rmtree(root / ".git"), _sparse(".git")),
    "more references than a repository has": _text(
        ".git/packed-refs", "".join(f"{number:040x} refs/heads/b{number}\n" for number in range(100_000))
    ),
    "an index of ten megabytes": _text(".git/index", b"DIRC\0\0\0\2\xff\xff\xff\xff" + bytes(10_000_000)),
    "objects elsewhere": _text(".git/objects/info/alternates", "/dev\n/proc\n" + "/a\n" * 100_000),
    "a folder without permissions": lambda root: (root / "closed").mkdir(mode=0),
    "a bomb of pictures": _text("p.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\x7f\xff\xff\xff" * 2 + b"\x08\6\0\0\0"),
    "a branch that is in another folder": _text(".git/commondir", "/proc/self/root" + "/.." * 1000),
    "the folder of the machine as its files": _text(".git/config", "[core]\n\tworktree = /\n"),
    "programs that are pipes": _all(
        _pipe(".venv/pyvenv.cfg"), _pipe(".venv/bin/python"), _pipe("node_modules/.bin/pyright")
    ),
    "settings that are pipes": _all(_pipe(".vscode/settings.json"), _pipe(".editorconfig"), _pipe("Makefile")),
    "rules of two hundred folders": _nested_rules,
    "five hundred repositories": _many_repositories,
    "a bare repository": _all(_text("b/HEAD", "ref: refs/heads/main\n"), _folder("b/objects"), _folder("b/refs")),
    "a link to the root": _link("all", "/"),
    "a link to itself": _link("loop", "loop"),
    "a link to its folder": _link("sub/up", ".."),
    "a chain of links": _chain_of_links,
    "links to devices": _all(
        _link("zero.py", "/dev/zero"), _link("random.txt", "/dev/urandom"), _link("tty", "/dev/tty")
    ),
    "links to the kernel's files": _all(
        _link("mem", "/proc/self/mem"), _link("kmsg", "/proc/kmsg"), _link("p", "/proc")
    ),
    "pipes": _all(_pipe("pipe.py"), _pipe("sub/pipe.txt"), _pipe(".env"), _pipe("node_modules/x/pipe.pem")),
    "a socket": _socket,
    "a terabyte of zeros": _sparse("zeros.txt"),
    "a terabyte that looks like a secret": _sparse("id_rsa"),
    "a picture of a terabyte": _sparse("picture.png"),
    "a line of fifty megabytes": _text("line.txt", b"hello " * 8_000_000),
    "fifty megabytes of empty lines": _text("lines.txt", b"\n" * 50_000_000),
    "thirty thousand files": _many_files,
    "five thousand secrets": _many_secrets,
    "deep folders": _deep,
    "odd names": _odd_names,
    "a folder named like a file": _all(
        _folder("AGENTS.md"), _folder("package.json"), _folder(".gitignore"), _folder(".env")
    ),
    "json of deep brackets": _text("package.json", "[" * 100_000),
    "toml of deep brackets": _text("pyproject.toml", "a = " + "[" * 100_000),
    "notebook of deep brackets": _text("n.ipynb", "[" * 100_000),
}
