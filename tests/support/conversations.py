"""What an opened session shows."""

from typing import Any


def shown_texts(opened: dict[str, Any], *kinds: str) -> list[str]:
    """The texts of the items of these kinds in the transcript of an opened session, in order."""
    return [item["text"] for item in opened["transcript"] if item["kind"] in kinds]
