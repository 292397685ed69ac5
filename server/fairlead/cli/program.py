"""How the user can start Fairlead in a terminal."""

import os
import shlex
import shutil
import sys
from pathlib import Path


def program_name() -> str:
    """The command that starts Fairlead: its name if it is on PATH, else its path, else `PYTHON -m fairlead`."""
    if shutil.which("fairlead"):
        return "fairlead"
    installed = shutil.which("fairlead", path=str(Path(sys.executable).parent))
    if installed is None:
        return f"{shlex.quote(sys.executable)} -m fairlead"
    path, here = Path(installed), Path.cwd()
    if path.parent == here:
        return os.path.join(os.curdir, path.name)
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
