"""Pictures in messages: making, measuring and removing them. Pure."""

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import replace

from fairlead.messages.parts import Image, MediaType, Message, Note, Part, Result

PIXELS_PER_TOKEN = 750
MAX_TOKENS = 1600
"""The provider shrinks a picture that would take more. Also the estimate for a picture of unknown size."""
MIN_TOKENS = 50
SEARCHED_CHARS = 400_000
"""How much of a picture's base64 is searched for its width and height: a JPEG may begin with a long preview."""

MAX_BYTES = 5 << 20
"""As base64 this is 6.7 MB.

The Messages API accepts 10 MB of base64. Amazon Bedrock and Google Vertex AI accept only 5 MB of it, so they refuse
pictures of more than 3.75 MB.
"""
TOO_LARGE = f"too large: the limit for a picture is {MAX_BYTES >> 20} MB"

REFUSED_PICTURE = "[A picture was here. The model's server refused it, so it was removed from the conversation.]"
OLD_PICTURE = "[A picture was here. It was removed from the conversation to make room for newer ones.]"

_JPEG_FRAME = re.compile(rb"\xff[\xc0-\xc3\xc5-\xc7\xc9-\xcb\xcd-\xcf]")


def media_type(data: bytes) -> MediaType | None:
    """The type of a picture, from its first bytes; None if a model cannot read it."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_of(kind: MediaType, data: bytes) -> Image:
    """A picture as a part of a message."""
    return Image(kind, b64encode(data).decode())


def image_tokens(image: Image) -> int:
    """The approximate number of tokens that a picture takes."""
    try:
        size = dimensions(b64decode(image.data[:SEARCHED_CHARS]))
    except ValueError:  # a damaged journal
        size = None
    if size is None:
        return MAX_TOKENS
    return max(MIN_TOKENS, min(MAX_TOKENS, size[0] * size[1] // PIXELS_PER_TOKEN))


def without_images(messages: Sequence[Message]) -> list[Message]:
    """The messages with a note in place of the images that the model's server refused.

    If the last message has images, only its images are replaced, because the server accepted the earlier ones.
    Otherwise all images are replaced, because the user may have switched to a model that reads only text. Unchanged
    messages are the same objects.
    """
    last = messages[-1:]
    if any(map(has_image, last)):
        return [*messages[:-1], *(_without_images(message, REFUSED_PICTURE) for message in last)]
    return [_without_images(message, REFUSED_PICTURE) if has_image(message) else message for message in messages]


def without_old_images(messages: Sequence[Message], images_left: int, chars_left: int) -> list[Message]:
    """The messages with a note in place of the oldest images, if not all images fit into one request.

    The images of one message stay or go together. Unchanged messages are the same objects.

    Args:
        images_left: how many images fit.
        chars_left: how many characters all of them may have in base64.
    """
    changed = list(messages)
    for index, message in reversed([*enumerate(messages)]):
        sizes = [len(image.data) for image in images_in(message)]
        images_left, chars_left = images_left - len(sizes), chars_left - sum(sizes)
        if sizes and min(images_left, chars_left) < 0:
            changed[index] = _without_images(message, OLD_PICTURE)
    return changed


def images_in(message: Message) -> list[Image]:
    """The pictures of a message, and of the results in it."""
    return [image for part in message.parts for image in _images_of(part)]


def has_image(message: Message) -> bool:
    """Whether a message contains a picture."""
    return any(map(_images_of, message.parts))


def _images_of(part: Part) -> tuple[Image, ...]:
    return (part,) if isinstance(part, Image) else part.images if isinstance(part, Result) else ()


def _without_images(message: Message, note: str) -> Message:
    return replace(message, parts=tuple(_without(part, note) for part in message.parts))


def _without(part: Part, note: str) -> Part:
    if isinstance(part, Image):
        return Note("picture", note)
    if isinstance(part, Result) and part.images:
        return replace(part, images=(), output=f"{part.output}\n{note}".strip())
    return part


def dimensions(data: bytes) -> tuple[int, int] | None:
    """The width and height in pixels; None for WebP, and if the beginning of the file does not show them."""
    match media_type(data):
        case "image/png" if len(data) >= 24:
            return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
        case "image/gif" if len(data) >= 10:
            return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
        case "image/jpeg":
            return _jpeg_dimensions(data)
        case _:
            return None


def _jpeg_dimensions(data: bytes) -> tuple[int, int] | None:
    """Follows the segments to the frame's header (ITU T.81, B.2.2)."""
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        if _JPEG_FRAME.match(data, position):
            return int.from_bytes(data[position + 7 : position + 9]), int.from_bytes(data[position + 5 : position + 7])
        position += 2 + int.from_bytes(data[position + 2 : position + 4])
    return None
