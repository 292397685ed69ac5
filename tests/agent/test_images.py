"""Image blocks: which pictures a model can read, how much of the window they take, and what a refusal removes."""

from collections.abc import Iterable

import pytest

from fairlead.agent.shortening import with_summary
from fairlead.agent.window import CHARS_PER_TOKEN, size
from fairlead.messages.images import (
    MAX_TOKENS,
    OLD_PICTURE,
    REFUSED_PICTURE,
    image_of,
    image_tokens,
    media_type,
    without_images,
    without_old_images,
)
from fairlead.messages.parts import Image, Message, Note, Part, Prompt, Result
from fairlead.models.anthropic.messages_api import IMAGE_LIMITS
from support.messages import assistant, user
from support.pictures import GIF, HEIC, WEBP, jpeg, png

LIMITS = IMAGE_LIMITS.count, IMAGE_LIMITS.chars


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(), "image/png"),
        (jpeg(), "image/jpeg"),
        (GIF, "image/gif"),
        (WEBP, "image/webp"),
        (HEIC, None),
        (b"", None),
        (b"BM\0\0", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
        (b"RIFF\0\0\0\0WAVE", None),
        (png()[:7], None),
    ],
)
def test_a_picture_is_recognized_by_its_bytes(data: bytes, expected: str | None) -> None:
    assert media_type(data) == expected


@pytest.mark.parametrize(
    ("data", "tokens"),
    [
        (png(750, 100), 100),
        (jpeg(750, 200), 200),
        (png(2, 1), 50),
        (png(4000, 3000), MAX_TOKENS),
        (GIF[:6] + b"\xee\2\xc8\0", 200),
        (WEBP, MAX_TOKENS),
        (png()[:20], MAX_TOKENS),
        (b"", MAX_TOKENS),
        (jpeg()[:12], MAX_TOKENS),
        (b"\xff\xd8\xff\xfe\0\0" * 3, MAX_TOKENS),
    ],
)
def test_the_tokens_of_a_picture_depend_on_its_pixels_and_not_on_its_bytes(data: bytes, tokens: int) -> None:
    """Width * height / 750, between a minimum and MAX_TOKENS; a picture of unknown size takes MAX_TOKENS."""
    image = image_of("image/png", data)
    assert image_tokens(image) == tokens
    assert size([user(image)]) == tokens * CHARS_PER_TOKEN


@pytest.mark.parametrize("data", ["x", "é", "not base64!"])
def test_a_damaged_picture_has_a_size_too(data: str) -> None:
    """Data that cannot be decoded, as in a damaged journal, takes MAX_TOKENS. The API then refuses the picture."""
    assert image_tokens(Image("image/png", data)) == MAX_TOKENS


def user_message(*names: str) -> Message:
    return user(*(image_of("image/png", png()) if name == "image" else name for name in names))


def texts(parts: Iterable[Part]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Prompt | Note)]


ANSWER = assistant("Seen.")


def test_only_the_pictures_of_the_refused_message_are_removed() -> None:
    """Earlier messages stay the same objects, so the cached prefix is still valid."""
    first, last = user_message("a", "image"), user_message("b", "image", "image", "c")
    changed = without_images([first, ANSWER, last])
    assert changed[0] is first
    assert texts(changed[2].parts) == ["b", REFUSED_PICTURE, REFUSED_PICTURE, "c"]


def test_all_pictures_are_removed_if_the_last_message_has_none() -> None:
    """The user may have switched to a model that reads only text."""
    first, last = user_message("a", "image"), user_message("b")
    changed = without_images([first, ANSWER, last])
    assert texts(changed[0].parts) == ["a", REFUSED_PICTURE]
    assert (changed[1] is ANSWER, changed[2] is last) == (True, True)
    assert without_images([]) == []


def test_the_pictures_of_results_are_pictures_too() -> None:
    """They are counted and removed like those of a prompt; the text of the result says so."""
    image = image_of("image/png", png(750, 100))
    result = user(Result("1", "(A picture.)", images=(image,)))
    assert size([result]) == len("(A picture.)") + 100 * CHARS_PER_TOKEN
    (removed,) = without_images([result])
    assert removed == user(Result("1", f"(A picture.)\n{REFUSED_PICTURE}"))
    (old, _) = without_old_images([result, user_message(*["image"] * IMAGE_LIMITS.count)], *LIMITS)
    assert old == user(Result("1", f"(A picture.)\n{OLD_PICTURE}"))


def test_the_pictures_of_the_oldest_messages_are_removed() -> None:
    """At most 20 remain. The pictures of one message are all removed, or none of them."""
    old, full, last = user_message("a", "image", "image"), user_message("b", *["image"] * 19), user_message("image")
    changed = without_old_images([old, ANSWER, full, ANSWER, last], *LIMITS)
    assert texts(changed[0].parts) == ["a", OLD_PICTURE, OLD_PICTURE]
    assert (changed[2] is full, changed[4] is last) == (True, True)
    assert without_old_images(changed, *LIMITS) == changed
    assert without_old_images([], *LIMITS) == []


@pytest.mark.parametrize("note", [OLD_PICTURE, REFUSED_PICTURE])
def test_a_summary_does_not_repeat_the_notes_on_removed_pictures(note: str) -> None:
    """In the summary, the notes would look like the user's words."""
    messages = [user("a", Note("picture", note)), ANSWER, user("b"), ANSWER]
    [summary, *_] = with_summary(messages, "Seen.", "", "", lambda _: False)
    assert texts(summary.parts[:-1]) == ["a"]
