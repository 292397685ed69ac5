"""The pictures of a prompt: which can be sent, and how many."""

from collections.abc import Sequence

from fairlead.display import escape_to_one_line
from fairlead.messages.history import clean_text
from fairlead.messages.images import MAX_BYTES, TOO_LARGE, image_of, media_type
from fairlead.messages.parts import Image
from fairlead.session.context.context_item import ContextItem
from fairlead.session.errors import WrongRequest

MEGABYTE = 1 << 20
MAX_IMAGES = 10
MAX_TOTAL_BYTES = 20 * MEGABYTE
"""The Messages API accepts requests of at most 32 MB, and base64 adds a third.

If not all pictures of a conversation fit, a note replaces the oldest ones (`without_old_images`).
"""
MAX_NAME_CHARS = 200

NO_IMAGE = "{name} is not a picture that the model can read. Use PNG, JPEG, GIF or WebP."
TOO_MANY = f"one too many: the limit for a task is {MAX_IMAGES} pictures and {MAX_TOTAL_BYTES // MEGABYTE} MB in total"


def shown_name(name: str) -> str:
    """The name of a picture, in one line of at most `MAX_NAME_CHARS`; `unnamed` if it has none."""
    return escape_to_one_line(clean_text(name).strip())[:MAX_NAME_CHARS] or "unnamed"


def check_images(items: Sequence[ContextItem]) -> None:
    """Checks the pictures that are sent with a prompt. Files that the prompt mentions are checked when they are read.

    Raises:
        WrongRequest: one of them is not a picture that a model can read, one is too large, or there are too many.
    """
    images = Images()
    for item in dict.fromkeys(items):
        if item.kind != "image":
            continue
        name = shown_name(item.name)
        if media_type(item.data) is None:
            raise WrongRequest(NO_IMAGE.format(name=name))
        problem = images.add(item.data)
        if problem:
            raise WrongRequest(f"{name} is {problem}.")


class Images:
    """Collects the pictures of a prompt, as many as fit."""

    def __init__(self) -> None:
        self.parts: list[Image] = []
        self._left = MAX_TOTAL_BYTES

    def add(self, data: bytes) -> str:
        """Adds a picture that a model can read (`media_type`), if it fits.

        Returns why it was not added, as the end of a sentence or a note; empty if it was added.
        """
        kind = media_type(data)
        assert kind is not None
        if len(data) > MAX_BYTES:
            return TOO_LARGE
        if len(self.parts) == MAX_IMAGES or len(data) > self._left:
            return TOO_MANY
        self._left -= len(data)
        self.parts.append(image_of(kind, data))
        return ""
