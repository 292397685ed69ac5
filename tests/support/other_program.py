"""What other programs do to the files of a workspace while a server watches it."""

import os
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Replaces a file atomically, as editors and Git do, so that a server never reads it half written."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    os.replace(new, path)
