"""The program that test_sandbox_walls.py runs as an ordinary user: `ordinary_user.py FOLDER`.

Prints "all well" at the end if all checks pass.
"""

import asyncio
import os
import pwd
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from fairlead.session.guarded_files import GuardedFiles, guarded_view
from fairlead.shell.layer import DEFAULT_LIMITS, HIDDEN_TEXT, Limits, View
from fairlead.shell.sandbox.box.limits import TOO_MANY
from fairlead.shell.sandbox.overlay import SandboxLayer
from fairlead.shell.sandbox.probe import Capability, probe
from fairlead.workspace.paths import Roots
from shell.boxes import Boxes, on_disk, seen, write

FILES = {".env": "KEY", ".gitignore": "*.o\nk.d/\n", "a.txt": "a", "d/b.txt": "b", "g/c.txt": "c"}


async def check(layer: SandboxLayer, workspace: Path) -> None:
    box = Boxes(layer)
    ran = await box.run(
        "cat a.txt; id -u; echo x > new.txt; mkdir shut; echo y > shut/y; chmod 000 shut new.txt; rm -r d;"
        " echo o > k.o; mkdir k.d; echo z > k.d/z; chmod 000 k.d",
        seen(**{"a.txt": "A", "d/p.txt": "p"}),
    )
    assert ran.output == f"A{os.getuid()}\n", ran.output
    assert ran.contents == {"d/b.txt": None, "d/p.txt": None, "new.txt": b"x\n", "shut/y": b"y\n"}, ran.contents
    assert await box.output("cat k.o d/b.txt") == "o\nb"
    await check_unreadable_folders(box, workspace)
    secrets = await box.run("cat ~/.ssh/id; grep Cap /proc/self/status")
    assert "PRIVATE" not in secrets.output
    assert secrets.output.count("0000000000000000") == 5
    assert (await box.run("unshare -Ur true")).code != 0
    assert (await box.run("echo x > /dev/tcp/127.0.0.1/22")).code != 0
    await check_recorded(box, workspace)
    hidden = await box.run("cat .env; rm .env; echo x > .env", View(hidden=[".env"]))
    assert "KEY" not in hidden.output
    assert hidden.changes.files == []
    bomb = await box.run("b() { b | b & }; b; sleep 60", limits=Limits(40, DEFAULT_LIMITS.memory))
    assert (bomb.output.splitlines()[-1], bomb.changes.files) == (f"Ended: {TOO_MANY.format(40)}.", [])
    assert on_disk(workspace) == FILES


async def check_recorded(box: Boxes, workspace: Path) -> None:
    """What a command reads is recorded, also if its processes hide their memory from other programs of the user."""
    hide = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); open('g/c.txt').read()"
    ran = await box.run(f'cat a.txt; python3 -c "{hide}"', records=True)
    assert ran.code == 0, ran.output
    assert ran.changes.reads is not None
    assert ran.changes.reads.is_complete, ran
    assert {str(workspace / name) for name in ("a.txt", "g/c.txt")} <= {
        access.path for access in ran.changes.reads.accesses
    }


async def check_unreadable_folders(box: Boxes, workspace: Path) -> None:
    """The user's folders keep their permissions, and the command's other changes are returned."""
    ran = await box.run("chmod 700 locked g/locked; rm -r locked g; echo x > other.txt")
    reason = "its old content cannot be read: Permission denied"
    assert ran.not_proposed == {"locked": reason, "g/locked": reason}, ran
    assert ran.contents == {"g/c.txt": None, "other.txt": b"x\n"}, ran.contents
    for name in ("locked", "g/locked"):
        assert stat.S_IMODE((workspace / name).stat().st_mode) == 0, name


async def check_repository_around(found: Capability, package: Path) -> None:
    """A command in a package sees the rest of its repository, without the secrets. Builds there stay in the layer."""
    top = package.parent
    write(top, {"app/a.txt": "a", "lib/b.txt": "LIB", "lib/.env": "KEY", ".gitignore": "target/\n"})
    for arguments in (["init", "-q"], ["add", "app"]):
        subprocess.run(["git", "-C", str(top), *arguments], check=True)
    before = on_disk(top)
    view = await guarded_view(Roots.of(package), lambda root: GuardedFiles(root.path))
    layer = await Capability(Roots.of(package), found.layers_folder, found.bubblewrap).layer()
    try:
        box = Boxes(layer)
        ran = await box.run("cat ../lib/b.txt ../lib/.env; mkdir ../target; echo x > ../target/x; echo x > c.txt", view)
        assert (ran.code, ran.output, ran.contents) == (0, f"LIB{HIDDEN_TEXT}", {"c.txt": b"x\n"}), ran
        assert await box.output("cat ../target/x", view) == "x\n"
    finally:
        await layer.aclose()
    assert on_disk(top) == before


async def main(folder: Path) -> None:
    assert os.getuid() != 0
    workspace, state = folder / "home" / "w s", folder / "home" / ".state"
    write(workspace, FILES | {"locked/x": "x", "g/locked/x": "x"})
    for name in ("locked", "g/locked"):
        (workspace / name).chmod(0)
    write(folder / "home", {".ssh/id": "PRIVATE"})
    (workspace / "d/b.txt").chmod(0o444)
    workspace.chmod(0o555)  # the user may not write here; commands write to the layer
    os.environ["PATH"] += f":{pwd.getpwuid(0).pw_dir}/bin"  # a folder of PATH that the user cannot read
    found = await probe(Roots.of(workspace), state)
    assert found.layers_folder == state, found
    for program in {found.bubblewrap, ""}:
        layer = await Capability(found.roots, found.layers_folder, program).layer()
        try:
            await check(layer, workspace)
        finally:
            await layer.aclose()
        await check_repository_around(replace(found, bubblewrap=program), folder / f"home/mono{len(program)}/app")
    assert list(state.iterdir()) == []
    print("all well")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
