"""What other programs do to the files of a workspace while a server watches it."""

import os
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Writes a file at once, as editors and Git do: a server may read it between a truncation and the new text."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    os.replace(new, path)
