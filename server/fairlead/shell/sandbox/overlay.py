"""The sandboxed layer: commands run on the proposed files, and never write to the user's files (docs/sandbox.md).

Between commands, only a folder outside of the workspace and the boxes' networks remain. The folder contains the upper
layers, which then hold only files that git ignores, and the caches of compilers. Each command has its own mounts, which
its launcher (`box/launcher.py`) makes and which end with the launcher.
"""

import asyncio
import contextlib
import itertools
import logging
import marshal
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairlead.errors import ToolError
from fairlead.shell.layer import (
    DEFAULT_LIMITS,
    NO_PROGRAM,
    BoxSettings,
    Changes,
    Entry,
    Launch,
    Limits,
    NotRun,
    ProgramBox,
    View,
    Where,
)
from fairlead.shell.network import NO_NETWORK, Network, proxies
from fairlead.shell.reads import Reads, parse_reads
from fairlead.shell.sandbox import repository
from fairlead.shell.sandbox.box import mounts
from fairlead.shell.sandbox.box.ending import END_TIMEOUT, LauncherStatus, end_box
from fairlead.shell.sandbox.box.network import OpenNetwork, open_network
from fairlead.shell.sandbox.box.path_calls import DOCUMENTS, path_call_filter, path_calls
from fairlead.shell.sandbox.box.seccomp import seccomp_filter
from fairlead.shell.sandbox.box.spec import BoxSpec, OverlaySpec, program_argv
from fairlead.shell.sandbox.caches import CompilerCaches
from fairlead.shell.sandbox.index_copies import IndexCopies
from fairlead.shell.sandbox.layer import collect_changes, disk_changes, trees
from fairlead.shell.sandbox.layer.layer_folder import LayerFolder, sweep
from fairlead.shell.sandbox.layer.leftovers import find_leftovers
from fairlead.shell.sandbox.layer.upper_layer import UpperLayer, owner_of
from fairlead.shell.sandbox.overlay_folders import OverlayFolders
from fairlead.shell.sandbox.reasons import is_full
from fairlead.shell.sandbox.shown_paths import ShownPaths
from fairlead.uncancelled import finish_uncancelled
from fairlead.workspace.paths import Roots, real_path
from fairlead.workspace.repositories import enclosing_repository

log = logging.getLogger(__name__)

OMITTED_FILTERS = (
    "These Git filters of the user are missing in the sandbox, because it does not show their programs: {names}. So "
    "git may show files as changed that are not."
)

# the maximum size of a file, in bytes: more than a build needs, and less than a disk has
FILE_SIZE = 8 << 30


@dataclass(frozen=True, slots=True)
class _Order:
    """A box to be made: the arguments of `Layer.open`."""

    command: str
    view: View
    start: Path | None
    limits: Limits
    network: Network
    background: bool
    program: ProgramBox
    records: bool
    settings: BoxSettings


class SandboxLayer:
    """A session's layer over the folders of a workspace. `Capability` explains the parameters."""

    where: Where = "sandboxed"

    def __init__(
        self,
        roots: Roots,
        layers_folder: Path,
        bubblewrap: str = "",
        hidden: Sequence[Path] = (),
        *,
        enforce_permissions: bool = False,
        settings: Callable[[], BoxSettings] = BoxSettings,
    ) -> None:
        """Also removes the folders that dead servers left in `layers_folder`.

        Raises:
            OSError: the layer's folder cannot be created.
        """
        self.roots, self._overlay_folders, self._bubblewrap = roots, OverlayFolders(roots), bubblewrap
        self._owner = owner_of(self._overlay_folders.paths[0])
        sweep(layers_folder)
        self._layer_folder = LayerFolder(layers_folder)
        self._folder = self._layer_folder.path
        try:
            os.chown(self._folder, self._owner.uid, self._owner.gid)
            self._uppers = self._make_uppers("upper", self._overlay_folders.paths)
            self._caches = CompilerCaches(self._folder, self._owner)
        except OSError:
            self._layer_folder.remove()
            raise
        self._boxes = itertools.count(1)
        self._has_foreground = False
        self._open_lock = asyncio.Lock()
        self._cancelled: set[asyncio.Task[None]] = set()
        self._networks: dict[Network, OpenNetwork] = {}
        self._enforce_permissions = enforce_permissions
        self._settings = settings
        self._shown = ShownPaths(
            self._overlay_folders,
            [real_path(path) for path in (layers_folder, *hidden)],
            self._folder,
            self._owner,
            enforce_permissions=enforce_permissions,
        )
        self._indexes = IndexCopies(self._overlay_folders, self._shown, self._owner)

    @property
    def has_retained(self) -> bool:
        """See `Layer.has_retained`."""
        return any(upper.retained for upper in self._uppers.values())

    async def open(
        self,
        command: str,
        view: View,
        *,
        folder: Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
        network: Network = NO_NETWORK,
        background: bool = False,
        program: ProgramBox = NO_PROGRAM,
        records: bool = False,
    ) -> "SandboxBox":
        """See `Layer.open`.

        A background command sees the session's ignored files as they change, unless `view.retained` is false. Its own
        are lost when it ends.
        """
        if self._has_foreground and not background:
            raise ToolError("Another command is still running in the sandbox. Wait until it has ended.")
        self._has_foreground |= not background
        settings = self._settings() if program.own is None else program.own
        services = {*settings.services, *(proxies(os.environ) if network.internet else ())}
        network = network.with_services(services)
        order = _Order(command, view, folder, limits, network, background, program, records, settings)
        opening = asyncio.ensure_future(self._open(order))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            closing = asyncio.create_task(_close_opened(opening))
            self._cancelled.add(closing)
            closing.add_done_callback(self._cancelled.discard)
            await finish_uncancelled(closing)
            raise

    async def leftovers(self, view: View) -> Sequence[str]:
        """See `Layer.leftovers`."""
        return await asyncio.to_thread(self._find_leftovers, view)

    def _find_leftovers(self, view: View) -> Sequence[str]:
        views = {**view.enclosing, **self._overlay_folders.split(view)}
        return [
            str(top / path)
            for top, upper in self._uppers.items()
            if top in views
            for path in find_leftovers(upper, views[top].proposed)
        ]

    async def aclose(self) -> None:
        """Closes the networks and removes the layer's folder. Call it when all boxes are closed."""
        if self._cancelled:
            await asyncio.wait(self._cancelled)
        for network in self._networks.values():
            await asyncio.to_thread(network.close)
        with contextlib.suppress(OSError):  # the next sweep removes the rest
            await asyncio.to_thread(self._layer_folder.remove)

    async def _open(self, order: _Order) -> "SandboxBox":
        name = f"box-{next(self._boxes)}"
        try:
            async with self._open_lock:
                return await asyncio.to_thread(self._make_box, name, order)
        except Exception as error:
            await asyncio.to_thread(self._discard_box, name, foreground=not order.background)
            if isinstance(error, OSError) or (isinstance(error, ToolError) and is_full(str(error))):
                raise self.box_failed(str(error)) from error
            raise

    def _discard_box(self, name: str, *, foreground: bool) -> None:
        """Removes what is left of a box that could not be made.

        For a foreground box, also clears the session's upper layers, including the files that git ignores: later
        commands must not see a part of its view.
        """
        try:
            with contextlib.suppress(OSError):
                trees.remove_all(self._folder / name)
            if foreground:
                self._clear()
        finally:
            self.on_closed(foreground=foreground)

    def _make_box(self, name: str, order: _Order) -> "SandboxBox":
        shell = mounts.find_bash()
        if shell is None:
            raise ToolError("bash was not found. Install it to run commands.")
        # overlayfs allows no upper folder inside its lower folder
        enclosing = {top: each for top, each in order.view.enclosing.items() if not self._folder.is_relative_to(top)}
        view = replace(order.view, enclosing=enclosing)
        settings = self._shown.settings(view)
        if settings is None:
            log.warning("%s: too many Git settings files; hidden from commands", ", ".join(map(str, enclosing)))
            view = replace(view, enclosing={})
            settings = self._shown.settings(view) or ()
        uppers, folder = self._session_uppers(view), self._make_folder(name)
        if not order.background or not self._has_foreground:
            disk_changes.prepare(uppers.values())
        if order.background:
            uppers = self._make_uppers(f"{folder.name}/upper", uppers, uppers, retained=view.retained)
        views = {**view.enclosing, **self._overlay_folders.split(view)}
        is_shared = order.background and self._has_foreground  # another command writes to what this one sees

        @cache
        def has_output_since(moment: int) -> bool:
            seen = self._uppers.values() if view.retained else ()
            return any(is_shared or disk_changes.has_output_since(upper, moment) for upper in seen)

        for top, upper in uppers.items():
            upper.fill(views[top], has_output_since)
        spec = self._box_spec(folder, uppers, replace(order, view=view), settings)
        spec["argv"] = [shell, "-c", "--", order.command]
        spec["cwd"] = str(self.roots.first.real if order.start is None else real_path(order.start))
        omitted = self._shown.omitted_filters if re.search(r"\bgit\b", order.command) else ()
        notes = [OMITTED_FILTERS.format(names=", ".join(omitted))] if omitted else []
        return SandboxBox(self, folder, uppers, views, spec, notes, foreground=not order.background)

    def _box_spec(
        self,
        folder: Path,
        uppers: Mapping[Path, UpperLayer],
        order: _Order,
        settings: Sequence[tuple[Path, str]],
    ) -> BoxSpec:
        view, limits, network = order.view, order.limits, order.network
        layers: list[OverlaySpec] = []
        for number, (top, upper) in enumerate(uppers.items(), 1):
            work = self._make_folder(f"{folder.name}/work-{number}")
            layers.append(_overlay(str(top), upper.lower_folders, upper.folder, work))
        outside = self._overlay_folders.outside_repositories()
        for number, path in enumerate(outside, 1):
            names = f"{folder.name}/repository-{number}", f"{folder.name}/repository-work-{number}"
            layers.append(_overlay(str(path), [path], *map(self._make_folder, names)))
        folders = order.settings.folders
        mounted = [mounts.home(), *(Path(layer["target"]) for layer in layers), *order.program.paths]
        mounted += [folder.path for folder in folders]
        private = mounts.private_folders(mounted if self._enforce_permissions else ())
        tools = self._shown.tools(view, private, order.program.paths)
        for layer in layers[len(uppers) :]:
            path = Path(layer["target"])
            work_trees = {enclosing_repository(top) or top: top for top in outside[path]}
            for top in work_trees.values():
                self._indexes.write(Path(layer["upper"]), path, top, view, private)
        for top in self._overlay_folders.paths:
            if os.path.isdir(top / ".git") and not os.path.islink(top / ".git"):
                self._indexes.write(uppers[top].folder, top, top, view, private)
        machine = str(self._make_folder(f"{folder.name}/machine")) if self._enforce_permissions else ""
        scratch = self._make_folder(f"{folder.name}/scratch")
        return BoxSpec(
            server=os.getpid(),
            status=-1,
            uid=self._owner.uid,
            gid=self._owner.gid,
            join=list(self._network(network).namespaces),
            layers=layers,
            machine=machine,
            mounts=mounts.shown_mount_points(mounts.paths_of(private)) if machine else [],
            scratch=str(scratch),
            scratch_size=limits.memory // 2,
            scratch_folders=[*((folder.name, folder.mode) for folder in private), ("dev", 0o755)],
            binds=self._shown.binds(
                view,
                settings,
                [Path(layer["target"]) for layer in layers],
                private,
                tools,
                [*self._caches.binds(), *((str(each.path), str(each.path), each.is_writable) for each in folders)],
                scratch,
                network=network,
            ),
            links=self._shown.links(view, private, tools),
            bubblewrap=self._bubblewrap,
            seccomp=seccomp_filter(),
            reads=-1,
            path_filter=path_call_filter() if order.records and not network else b"",
            path_calls=path_calls(),
            documents=[os.fsencode(end) for end in DOCUMENTS],
            file_size=FILE_SIZE,
            processes=limits.processes,
            memory=limits.memory,
            terminal=bool(order.program.terminal),
            cwd="",
            argv=[],
            env=mounts.command_environment(
                os.environ, order.settings.pass_variables, network=network, terminal=order.program.terminal
            )
            | {name: value for top in uppers for name, value in repository.git_environment(top).items()}
            | dict(order.settings.variables),
        )

    def _network(self, network: Network) -> OpenNetwork:
        """The network of all boxes with these permissions. They reach each other's servers in it."""
        if network in self._networks and self._networks[network].has_failed:
            self._networks.pop(network).close()
        if network not in self._networks:
            self._networks[network] = open_network(network, self._owner)
        return self._networks[network]

    def _make_folder(self, name: str) -> Path:
        trees.make_folder(self._folder, name, self._owner.uid, self._owner.gid)
        return self._folder / name

    def box_failed(self, reason: str) -> NotRun:
        """The error for a box that could not be made. If the disk is full, clears the upper layers and the caches."""
        if not is_full(reason):
            return NotRun(f"The command was not run: its sandbox could not be created ({reason}).", reason)
        self._clear()
        self._caches.clear()
        return NotRun(
            f"The command was not run: no space, or no inode, is left for its sandbox in {self._folder.parent}. The "
            "builds of earlier commands in the sandbox were removed. Try again; if this error occurs again, ask the "
            "user to free some space.",
            reason,
        )

    def collect(
        self,
        uppers: Mapping[Path, UpperLayer],
        views: Mapping[Path, View],
        since: int,
        spec: BoxSpec,
        shown: Mapping[str, Entry | None] | None = None,
    ) -> Changes:
        """Takes a box's changes out of its upper layers. Raises what `collect_changes.collect` raises.

        Args:
            shown: as in `Box.changes`, for a command that still runs. Then the layers stay as they are.
        """
        if shown:
            of_shown = self._overlay_folders.split(View(shown))
            views = {
                top: replace(view, proposed={**view.proposed, **of_shown[top].proposed}) if top in of_shown else view
                for top, view in views.items()
            }
        by_path = {Path(layer["target"]): Path(layer["upper"]) for layer in spec["layers"]}
        # several folders may share a repository, which is inspected once
        first = {
            tops[0]: [by_path[path]]
            for path, tops in self._overlay_folders.outside_repositories().items()
            if path in by_path
        }
        found = {
            top: collect_changes.collect(upper, views[top], since, first.get(top, ()), takes=shown is None)
            for top, upper in uppers.items()
        }
        return self._overlay_folders.merge(found)

    def _session_uppers(self, view: View) -> Mapping[Path, UpperLayer]:
        """The session's upper layers for all that a command sees, the outer ones first."""
        for top in view.enclosing:
            if top not in self._uppers:
                self._uppers |= self._make_uppers(f"upper-{len(self._uppers)}", [top])
        return {top: self._uppers[top] for top in (*sorted(view.enclosing), *self._overlay_folders.paths)}

    def _make_uppers(
        self,
        name: str,
        tops: Iterable[Path],
        session: Mapping[Path, UpperLayer] = MappingProxyType({}),
        *,
        retained: bool = True,
    ) -> dict[Path, UpperLayer]:
        """New upper layers, over those of the session.

        Args:
            session: the session's upper layers; empty if there are none below.
            retained: whether they show what commands left in these.
        """
        folders = (f"{name}-{number}" for number in itertools.count(1))
        return {
            top: UpperLayer(top, self._make_folder(next(folders)), self._owner, session.get(top), retained=retained)
            for top in tops
        }

    def _clear(self) -> None:
        for upper in self._uppers.values():
            upper.clear()

    def on_closed(self, *, foreground: bool) -> None:
        """Notes that a box has closed. Call it once per box, whatever the outcome."""
        self._has_foreground &= not foreground


class SandboxBox:
    """The box of one command."""

    def __init__(
        self,
        layer: SandboxLayer,
        folder: Path,
        uppers: Mapping[Path, UpperLayer],
        views: Mapping[Path, View],
        spec: BoxSpec,
        notes: Sequence[str],
        *,
        foreground: bool,
    ) -> None:
        self._layer, self._folder, self._uppers, self._views, self._spec = layer, folder, uppers, views, spec
        self._notes, self._foreground = notes, foreground
        self._since = folder.stat().st_ctime_ns
        with contextlib.ExitStack() as opened:
            sent = os.memfd_create("spec")
            opened.callback(os.close, sent)
            self._status, status = os.pipe()
            opened.callback(os.close, status)
            opened.callback(os.close, self._status)
            spec["status"] = status
            if spec["path_filter"]:
                spec["reads"] = os.memfd_create("reads")
                opened.callback(os.close, spec["reads"])
            os.write(sent, marshal.dumps(dict[Any, Any](spec)))
            os.lseek(sent, 0, os.SEEK_SET)
            opened.pop_all()
        self._launcher_descriptors = (sent, status)
        recorded = [spec["reads"]] if spec["reads"] >= 0 else []
        descriptors = [*self._launcher_descriptors, *spec["join"], *recorded]
        argv = program_argv("launcher", sent)
        self.launch = Launch(argv, Path(spec["cwd"]), spec["env"], descriptors, has_report=True)

    async def changes(self, shown: Mapping[str, Entry | None]) -> Changes:
        """See `Box.changes`."""
        try:
            return await asyncio.to_thread(self._collect, shown)
        except OSError as error:
            raise ToolError(f"The program's changes could not be read: {error}.") from error

    async def close(self) -> Changes:
        """See `Box.close`. Ends the box if its launcher died before it could do so."""
        return await asyncio.to_thread(self._close)

    def _close(self) -> Changes:
        for descriptor in self._launcher_descriptors:
            os.close(descriptor)
        try:
            with open(self._status, "rb") as pipe:
                status = LauncherStatus.parse(pipe.read().decode("utf-8", "replace"))
            reads = self._take_reads()
            if not end_box(status):
                raise OSError(f"one of its processes did not end within {END_TIMEOUT:.0f} s")
            changes = self._collect()
            if self._foreground:
                disk_changes.begin(self._uppers.values(), self._since)
        except Exception as error:
            for upper in self._uppers.values():
                upper.clear()
            if not isinstance(error, OSError):
                raise
            raise ToolError(f"The command's changes are lost, because they could not be read: {error}.") from error
        finally:
            with contextlib.suppress(OSError):
                trees.remove_all(self._folder)
            self._layer.on_closed(foreground=self._foreground)
        if status.error:
            raise self._layer.box_failed(status.error)
        return replace(changes, warnings=[*changes.warnings, *self._notes], reads=reads)

    def _take_reads(self) -> Reads | None:
        if self._spec["reads"] < 0:
            return None
        with open(self._spec["reads"], "rb") as file:
            file.seek(0)  # the launcher has moved the position, which it shares
            return parse_reads(file.read())

    def _collect(self, shown: Mapping[str, Entry | None] | None = None) -> Changes:
        changes = self._layer.collect(self._uppers, self._views, self._since, self._spec, shown)
        return changes if self._foreground else replace(changes, ignored=())


async def _close_opened(opening: asyncio.Future[SandboxBox]) -> None:
    """Closes a box that nobody waits for anymore, once it is open."""
    await asyncio.wait([opening])
    if opening.exception() is None:
        with contextlib.suppress(ToolError):
            await opening.result().close()


def _overlay(target: str, lower: Sequence[Path], upper: Path, work: Path) -> OverlaySpec:
    return OverlaySpec(target=target, lower=list(map(str, lower)), upper=str(upper), work=str(work))
