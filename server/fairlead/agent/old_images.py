"""Removes the oldest pictures when not all fit into one request."""

from collections.abc import Callable

from fairlead.agent.events import Compacted, Event
from fairlead.agent.interceptors import Interceptor
from fairlead.agent.model import ImageLimits
from fairlead.messages.history import History
from fairlead.messages.images import has_image, without_old_images

REMOVED = (
    "Older pictures were removed from the conversation: a request can contain at most {count} pictures, and {size} MB "
    "in total."
)
BYTES_PER_CHAR, MEGABYTE = 3 / 4, 1 << 20  # of base64


class OldImages(Interceptor):
    """Keeps the pictures of a conversation within what a request can contain."""

    def __init__(self, history: History, limits: ImageLimits | None, emit: Callable[[Event], None]) -> None:
        self._history, self._limits, self._emit = history, limits, emit
        self._has_checked = False

    async def before_request(self) -> tuple[()]:
        # at first all messages, because the limits of an earlier run's model may have been higher
        if self._limits and (not self._has_checked or has_image(self._history.messages[-1])):
            self._has_checked = True
            self._check(self._limits)
        return ()

    def _check(self, limits: ImageLimits) -> None:
        before = list(self._history.messages)
        after = without_old_images(before, limits.count, limits.chars)
        if after != before:
            self._history.replace(after)
            size = limits.chars * BYTES_PER_CHAR // MEGABYTE
            self._emit(Compacted(REMOVED.format(count=limits.count, size=f"{size:.0f}")))
