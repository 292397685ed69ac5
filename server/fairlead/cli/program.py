"""How the user can start Fairlead in a terminal."""

import shlex
import shutil
import sys
from pathlib import Path


def program_name() -> str:
    """What the user types to start Fairlead: its name if it is on PATH, else its path."""
    if shutil.which("fairlead"):
        return "fairlead"
    installed = shutil.which("fairlead", path=str(Path(sys.executable).parent))
    if installed is None:
        return f"{shlex.quote(sys.executable)} -m fairlead"
    path = Path(installed)
    return shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))
