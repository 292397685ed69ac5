"""Removes the oldest pictures when not all fit into one request."""

from collections.abc import Callable

from fairlead.agent.events import Compacted, Event
from fairlead.agent.hooks import Hook
from fairlead.messages.history import History
from fairlead.messages.images import without_old_images

OLD_IMAGES = (
    "Older pictures were removed from the conversation: a request can contain at most 20 pictures, and 20 MB in total."
)


class OldImages(Hook):
    """Keeps the pictures of a conversation within what a request can contain."""

    def __init__(self, history: History, emit: Callable[[Event], None]) -> None:
        self._history, self._emit = history, emit

    async def before_request(self) -> tuple[()]:
        before = list(self._history.messages)
        after = without_old_images(before)
        if after != before:
            self._history.replace(after)
            self._emit(Compacted(OLD_IMAGES))
        return ()
