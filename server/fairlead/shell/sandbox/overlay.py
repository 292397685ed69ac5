"""The layer of Linux: commands on the proposed files, in a box that can write nothing else (docs/sandbox.md).

Of the session it keeps one folder outside of the workspace: the upper layer, in which what git ignores stays warm
between commands. Each command has its own mounts, made by a launcher (`launcher.py`) and gone with it.
"""

import asyncio
import contextlib
import itertools
import marshal
import os
import select
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairlead.agent.errors import ToolError
from fairlead.shell.layer import DEFAULT_LIMITS, Changes, Launch, Limits, NotRun, View, Where
from fairlead.shell.sandbox import collect_changes, gitconfig, mounts, repository, trees
from fairlead.shell.sandbox.index import assume_rest_unchanged
from fairlead.shell.sandbox.layer_folder import LayerFolder, sweep
from fairlead.shell.sandbox.limits import kill_tree
from fairlead.shell.sandbox.loopback import loopback
from fairlead.shell.sandbox.lower_layer import Fingerprint, LowerLayer
from fairlead.shell.sandbox.reasons import is_full
from fairlead.shell.sandbox.seccomp import seccomp_filter
from fairlead.shell.sandbox.spec import BoxSpec, OverlaySpec, launcher
from fairlead.shell.sandbox.upper_layer import Owner, UpperLayer
from fairlead.workspace.repositories import enclosing, git_folder, text_of

# per process: what an honest build does not come near, and a mistake does not take the machine with it
FILE_SIZE = 8 << 30
# how long the last process of a box may take to go once its launcher is gone, in seconds
_LAST, _AGAIN = 10.0, 0.1


class SandboxLayer:
    """A session's layer over `root`.

    `place` is a folder for the layers of all sessions, on a file system that can hold one; `bubblewrap` the program's
    path, or "" (both as `probe` found them). `hidden` are folders and files of ours that no command shall read. For
    root `enforce_permissions` says that the kernel leaves out what only root may read.
    """

    where: Where = "sandboxed"

    def __init__(
        self,
        root: Path,
        place: Path,
        bubblewrap: str = "",
        hidden: Sequence[Path] = (),
        *,
        enforce_permissions: bool = False,
    ) -> None:
        """Raises OSError where the folder cannot be made."""
        self._root, self._bubblewrap = root.resolve(), bubblewrap
        self._named = Path(os.path.abspath(root))
        self._owner = owner_of(self._root)
        self._hidden = [path.resolve() for path in (place, *hidden)]
        sweep(place)
        self._own = LayerFolder(place)
        self._folder = self._own.path
        try:
            os.chown(self._folder, self._owner.uid, self._owner.gid)
            self._upper = UpperLayer(self._root, self._make("upper"), self._owner)
        except OSError:
            self._own.remove()
            raise
        self._boxes = itertools.count(1)
        self._in_front = False
        self._making = asyncio.Lock()
        self._network: list[int] = []
        self._back: list[Path] | None = None
        self._index: tuple[Fingerprint, bytes | None] = None, None
        self._closed: list[Path] = []
        self._by_permission = enforce_permissions

    async def open(
        self,
        command: str,
        view: View,
        *,
        limits: Limits = DEFAULT_LIMITS,
        network: bool = False,
        background: bool = False,
    ) -> "SandboxBox":
        """As the port says; a command in the background sees what is kept as it changes, and its own is not kept."""
        if self._in_front and not background:
            raise ToolError("Another command is still running in the workspace's layer; wait until it has ended.")
        self._in_front |= not background
        making = asyncio.ensure_future(self._open(command, view, limits, network, background))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            await (await making).close()
            raise

    async def aclose(self) -> None:
        for descriptor in self._network:
            os.close(descriptor)
        with contextlib.suppress(OSError):  # the next sweep removes what stays
            await asyncio.to_thread(self._own.remove)

    async def _open(self, command: str, view: View, limits: Limits, network: bool, background: bool) -> "SandboxBox":
        try:
            async with self._making:
                return await asyncio.to_thread(self._made, command, view, limits, network, background)
        except (OSError, ToolError) as error:
            if not background:
                await asyncio.to_thread(self._upper.clear)  # what was written of the view must not be seen later
            self.closed(in_front=not background)
            if isinstance(error, ToolError) and not is_full(str(error)):
                raise
            raise self.not_made(str(error)) from error

    def _made(self, command: str, view: View, limits: Limits, network: bool, background: bool) -> "SandboxBox":
        shell = mounts.find_bash()
        if shell is None:
            raise ToolError("There is no bash on this system; install it to run commands.")
        upper, folder = self._upper, self._make(f"box-{next(self._boxes)}")
        if background:
            upper = UpperLayer(self._root, self._make(f"{folder.name}/upper"), self._owner)
            if not self._in_front:
                self._upper.forget_stale()
        upper.fill(view)
        spec = self._box_spec(folder, upper, view, limits, network)
        spec["argv"] = [shell, "-c", "--", command]
        return SandboxBox(self, folder, upper, view, spec, in_front=not background)

    def _box_spec(self, folder: Path, upper: UpperLayer, view: View, limits: Limits, network: bool) -> BoxSpec:
        lower = [str(self._root)]
        if upper is not self._upper:
            lower.insert(0, str(self._upper.folder))
        layers = [_layered(str(self._root), lower, upper.folder, self._make(f"{folder.name}/work"))]
        outside = repository.find_outside(self._root)
        if outside is not None:
            made = self._make(f"{folder.name}/repository"), self._make(f"{folder.name}/repository-work")
            layers.append(_layered(str(outside), [str(outside)], *made))
        inside = [Path(layer["target"]) for layer in layers] if self._by_permission else []
        blanks = mounts.private_folders(inside)
        if outside is not None:
            self._hide_others(Path(layers[1]["upper"]), outside, blanks)
        machine = str(self._make(f"{folder.name}/machine")) if self._by_permission else ""
        scratch = self._make(f"{folder.name}/scratch")
        return BoxSpec(
            server=os.getpid(),
            status=-1,
            uid=self._owner.uid,
            gid=self._owner.gid,
            join=[] if network else self._joined(),
            layers=layers,
            machine=machine,
            mounts=mounts.shown_mount_points({blank.path for blank in blanks}) if machine else [],
            scratch=str(scratch),
            scratch_size=limits.memory // 2,
            scratch_folders=[*((blank.name, blank.mode) for blank in blanks), ("dev", 0o755)],
            binds=self._binds(view, layers, blanks, str(scratch), network),
            links=self._links(blanks),
            bubblewrap=self._bubblewrap,
            calls=seccomp_filter(),
            file_size=FILE_SIZE,
            processes=limits.processes,
            memory=limits.memory,
            cwd=str(self._root),
            argv=[],
            env=mounts.command_environment(os.environ, network=network) | repository.git_environment(self._root),
        )

    def _hide_others(self, upper: Path, outside: Path, blanks: list[mounts.PrivateFolder]) -> None:
        """Into the layer of a repository: an index in which nothing misses the files that a box does not show."""
        above = enclosing(self._root)
        if above is None or mounts.is_shown(above, {blank.path for blank in blanks}, ()):
            return
        index = git_folder(above / ".git") / "index"
        if not index.is_relative_to(outside):
            return
        mark = LowerLayer(index.parent).fingerprint("index")
        if mark != self._index[0]:
            self._index = mark, assume_rest_unchanged(os.fsencode(self._root.relative_to(above)), index)
        if self._index[1] is not None:
            folder = upper
            for name in index.parent.relative_to(outside).parts:
                folder /= name
                trees.make_folder(folder.parent, name, self._owner.uid, self._owner.gid)
            with open(folder / "index", "xb") as file:
                file.write(self._index[1])
                os.fchmod(file.fileno(), 0o644)
                os.fchown(file.fileno(), self._owner.uid, self._owner.gid)

    def _joined(self) -> list[int]:
        """What the boxes without the network have in common, so that one reaches the server that another runs."""
        if not self._network:
            self._network = loopback(self._owner)
        return self._network

    def _binds(
        self, view: View, layers: list[OverlaySpec], blanks: list[mounts.PrivateFolder], scratch: str, network: bool
    ) -> list[mounts.Bind]:
        """In this spec: the box's own folders, the tools in them, the layers, what is closed, what is hidden."""
        if self._back is None:
            self._back = mounts.tool_paths(self._root, os.environ)
            closed = mounts.root_only_paths() if self._owner.uid == 0 and not self._by_permission else []
            self._closed = [path for path in closed if not self._root.is_relative_to(path)]
        back = [*self._back, *(mounts.resolver_files() if network else [])]
        own, box = [Path(layer["target"]) for layer in layers], Path(scratch).parent
        binds: list[mounts.Bind] = [(f"{scratch}/{blank.name}", str(blank.path), True) for blank in blanks]
        binds += [(str(path), str(path), False) for path in back]
        binds += self._rewritten(box, gitconfig.user_settings(mounts.home()))
        binds += [(str(path), str(path), True) for path in own]
        binds += [(str(path), str(path), False) for path in repository.files_above(self._root)]
        git = [Path(layer["target"]) for layer in layers[1:]] or [self._root / ".git"]
        kept = [
            *(path for folder in git for path in repository.read_only_parts(folder)),
            *self._inside(view.read_only, view),
        ]
        binds += [(str(path), str(path), False) for path in kept]
        folders, shown = {blank.path for blank in blanks}, {*back, *own}
        repositories = [*git, *(self._root / name for name in view.repositories)]
        settings = gitconfig.redacted_settings(repositories, mounts.home(), lambda path: self._text(path, view))
        binds += self._rewritten(box, (each for each in settings if self._is_seen(each[0], folders, shown)))
        masked = [*self._hidden, *self._closed, *mounts.socket_paths()]
        masked = [path for path in masked if self._is_seen(path, folders, shown)]
        masked += self._inside(view.hidden, view)
        shut = set(masked)
        outermost = [path for path in masked if shut.isdisjoint(path.parents)]  # in these there is nothing else
        return [*binds, *((self._nothing(path), str(path), False) for path in outermost)]

    def _is_seen(self, path: Path, blank: set[Path], back: set[Path]) -> bool:
        seen = mounts.is_shown(path, blank, back)
        return seen and (not self._by_permission or mounts.is_reachable(path, back))

    def _text(self, path: Path, view: View) -> str:
        """What a file says for a command, be it proposed or on the disk."""
        name = str(path.relative_to(self._root)) if path.is_relative_to(self._root) else ""
        if name not in view.proposed:
            return text_of(path)
        entry = view.proposed[name]
        return entry.data.decode("utf-8", "surrogateescape") if entry is not None else ""

    def _links(self, blanks: list[mounts.PrivateFolder]) -> list[tuple[str, str]]:
        """The editor's name for the workspace, where that is a link in a folder that is not shown."""
        if mounts.is_shown(self._named, {blank.path for blank in blanks}, {self._root}):
            return []
        return [(str(self._root), str(self._named))]

    def _inside(self, names: Iterable[str], view: View) -> list[Path]:
        """Those that a command would find; a link is answered for by the file of the workspace that it leads to."""
        paths = [self._root / name if name in view.proposed else (self._root / name).resolve() for name in names]
        within = {str(path.relative_to(self._root)): path for path in paths if path.is_relative_to(self._root)}
        there = (view.proposed[name] is not None if name in view.proposed else within[name].exists() for name in within)
        return [path for path, is_there in zip(within.values(), there, strict=True) if is_there]

    def _rewritten(self, folder: Path, texts: Iterable[tuple[Path, str]]) -> Iterator[mounts.Bind]:
        """What is seen in place of files: other texts, held in a folder of the box."""
        for path, text in texts:
            descriptor, made = tempfile.mkstemp(prefix="text-", dir=folder)
            with open(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "surrogateescape"))
                os.fchmod(descriptor, 0o444)
            yield made, str(path), False

    def _nothing(self, path: Path) -> str:
        """What is seen instead of a hidden place: an empty file or folder that nobody may read."""
        name = "no-folder" if path.is_dir() else "no-file"
        made = self._folder / name
        if not made.exists():
            if path.is_dir():
                made.mkdir(mode=0)
            else:
                os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0))
            os.chown(made, self._owner.uid, self._owner.gid, follow_symlinks=False)
        return str(made)

    def _make(self, name: str) -> Path:
        trees.make_folder(self._folder, name, self._owner.uid, self._owner.gid)
        return self._folder / name

    def not_made(self, reason: str) -> NotRun:
        """What the model hears of a box that could not be made. Makes room where there is none."""
        if not is_full(reason):
            return NotRun(f"The command was not run: its sandbox could not be made ({reason}).", reason)
        self._upper.clear()
        return NotRun(
            f"The command was not run: no space, or no inode, is left for its sandbox in {self._folder.parent}. What "
            "earlier commands built in the sandbox is removed. If this happens again, ask the user to free some space.",
            reason,
        )

    def closed(self, *, in_front: bool) -> None:
        """A box says so, in whatever way it ended."""
        self._in_front &= not in_front


class SandboxBox:
    """One command's box; see the port."""

    def __init__(
        self, layer: SandboxLayer, folder: Path, upper: UpperLayer, view: View, spec: BoxSpec, *, in_front: bool
    ):
        self._layer, self._folder, self._upper, self._view = layer, folder, upper, view
        self._in_front = in_front
        self._since = folder.stat().st_ctime_ns
        self._repositories = [Path(layer["upper"]) for layer in spec["layers"][1:]]
        self._status, told = os.pipe()
        sent = os.memfd_create("spec")
        spec["status"] = told
        os.write(sent, marshal.dumps(dict[Any, Any](spec)))
        os.lseek(sent, 0, os.SEEK_SET)
        self._given = (sent, told)
        descriptors = [*self._given, *spec["join"]]
        self.launch = Launch(launcher("main", sent), Path(spec["cwd"]), spec["env"], descriptors)

    async def close(self) -> Changes:
        return await asyncio.to_thread(self._close)

    def _close(self) -> Changes:
        for descriptor in self._given:
            os.close(descriptor)
        with open(self._status, "rb") as status:
            told = _Told.read(status.read().decode("utf-8", "replace"))
        try:
            if not _is_gone(told):
                raise OSError(f"a process of it did not end within {_LAST:.0f} s")
            changes = collect_changes.collect(self._upper, self._view, self._since, self._repositories)
        except OSError as error:
            self._upper.clear()
            raise ToolError(f"What the command changed cannot be read back and is lost: {error}.") from error
        finally:
            with contextlib.suppress(OSError):
                trees.remove_all(self._folder)
            self._layer.closed(in_front=self._in_front)
        if told.error:
            raise self._layer.not_made(told.error)
        return changes if self._in_front else replace(changes, ignored=())


@dataclass(frozen=True, slots=True)
class _Told:
    """What a launcher said: the pid of its box's init, whether that was seen to end, and what went wrong."""

    init: int | None
    ended: bool
    error: str

    @classmethod
    def read(cls, text: str) -> "_Told":
        lines = {word: rest for word, _, rest in (line.partition(" ") for line in text.splitlines())}
        return cls(int(lines["init"]) if "init" in lines else None, "done" in lines, lines.get("error", ""))


def owner_of(root: Path) -> Owner:
    """Whose rights a command gets: ours, but for root those of the workspace's owner."""
    found = root.stat()
    return Owner(found.st_uid, found.st_gid) if os.geteuid() == 0 else Owner(os.geteuid(), os.getegid())


def _is_gone(told: _Told) -> bool:
    """Whether no process of the box is left; its init ends last. One that its launcher left is ended here."""
    if told.ended or told.init is None:
        return True
    try:
        init = os.pidfd_open(told.init)
    except ProcessLookupError:
        return True
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    ended = select.poll()
    ended.register(init, select.POLLIN)
    try:
        until = time.monotonic() + _LAST
        while not ended.poll(_AGAIN * 1000):
            if time.monotonic() > until:
                return False
            kill_tree(told.init, proc)
        return True
    finally:
        os.close(proc)
        os.close(init)


def _layered(target: str, lower: list[str], upper: Path, work: Path) -> OverlaySpec:
    return OverlaySpec(target=target, lower=lower, upper=str(upper), work=str(work))
