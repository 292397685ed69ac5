"""Records what the tests create outside of the folder of their run, for the check `leftovers` of `npm test`.

The checks get their own home and temporary folder (scripts/isolation.mjs). Code that does not use these creates files
among those of all other programs. So each process of the tests records what it creates there, with an audit hook.
Forked processes inherit the hook, so it covers the servers and commands of the tests. Other programs record nothing.
"""

import os
import sys
from pathlib import Path
from typing import Any

# The variables with the path of the record, and with the folders that other programs use too. `npm test` sets them.
RECORD, WATCHED = "FAIRLEAD_TEST_FOOTPRINT", "FAIRLEAD_TEST_WATCHED"
_REPOSITORY = str(Path(__file__).parents[2])
# the position of the created path in the arguments of each event
_CREATING = {"open": 0, "os.mkdir": 0, "os.rename": 1, "os.link": 1, "os.symlink": 1}


def install() -> None:
    """Records from now on, in this process and in those that are forked from it. Only in a run of `npm test`."""
    record = os.environ.get(RECORD)
    if not record:
        return
    watched = tuple(os.environ[WATCHED].split(os.pathsep))
    own = (os.path.dirname(record), _REPOSITORY, os.environ.get("FAIRLEAD_TEST_CACHE", _REPOSITORY))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        """Called before the path is created."""
        if event not in _CREATING or (event == "open" and not (arguments[2] or 0) & os.O_CREAT):
            return
        path = arguments[_CREATING[event]]
        if isinstance(path, (str, bytes, os.PathLike)):
            path = os.path.abspath(os.fsdecode(path))
            is_elsewhere = _is_in(path, watched) and not _is_in(path, own) and "__pycache__" not in path
            if is_elsewhere and not os.path.lexists(path):
                _append(record, path)

    sys.addaudithook(hook)


def _is_in(path: str, folders: tuple[str, ...]) -> bool:
    return any(path.startswith(folder + os.sep) for folder in folders)


def _append(record: str, path: str) -> None:
    descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        os.write(descriptor, os.fsencode(path) + b"\n")
    finally:
        os.close(descriptor)
