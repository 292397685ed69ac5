"""Where `search` and `list_files` look: a file or folder on disk, and the texts in it that the disk does not have."""

from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.workspace.files import Files


def search_scope(files: Files, given: str | None) -> tuple[Path, dict[Path, str | None]]:
    """The file or folder of a path that the model gave (none: the whole workspace), and the texts in it.

    The texts are those of `Files.texts_not_on_disk`.

    Raises:
        ToolError: there is nothing at the path, neither on disk nor among these texts.
    """
    folder = files.root.resolve(given or ".")
    texts = {path: text for path, text in files.texts_not_on_disk() if path.is_relative_to(folder)}
    if not folder.exists() and all(text is None for text in texts.values()):
        raise ToolError(f"No such file or folder: {given or '.'}")
    return folder, texts
