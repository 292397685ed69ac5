"""The caches in which the commands of a session find what earlier ones have compiled (docs/sandbox.md).

They are not the user's own caches: otherwise the user's builds would contain what a command has written there.
"""

from pathlib import Path

from fairlead.shell.sandbox.box import mounts
from fairlead.shell.sandbox.layer import trees
from fairlead.shell.sandbox.layer.upper_layer import Owner

_IN_HOME = (".cache/ccache",)
"""Where ccache has its cache by default. It allows several processes in a cache, unlike sccache.

Go's cache is not among them: it contains results of tests, which do not depend on everything that a test reads. A check
that passes only because of such a result would be false evidence.
"""


class CompilerCaches:
    """The caches of one session."""

    def __init__(self, layer_folder: Path, owner: Owner) -> None:
        """Creates the caches in a layer's folder, for the account that commands run as.

        Raises:
            OSError: they cannot be created.
        """
        self._folders = {name: layer_folder / "caches" / Path(name).name for name in _IN_HOME}
        for folder in (layer_folder / "caches", *self._folders.values()):
            trees.make_folder(folder.parent, folder.name, owner.uid, owner.gid)

    def binds(self) -> list[mounts.Bind]:
        """The binds that show the caches in the home."""
        return [(str(folder), str(mounts.home() / name), True) for name, folder in self._folders.items()]

    def clear(self) -> None:
        """Empties the caches, as far as possible."""
        for folder in self._folders.values():
            trees.clear(folder)
