"""What is worked out once per value."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from fairlead.edits.cached_derivation import cached_derivation


class Text:
    def __init__(self, may_go_on: Event) -> None:
        self._may_go_on = may_go_on
        self.looks = 0

    @cached_derivation
    def length(self) -> int:
        self.looks += 1
        assert self._may_go_on.wait(10)
        return 7


def test_one_that_takes_long_holds_up_no_other() -> None:
    """A long text is compared in a thread while the user's other files are shown; each is worked out once."""
    free, held = Event(), Event()
    free.set()
    short, long = Text(free), Text(held)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(lambda: long.length)
        assert (short.length, short.length, short.looks) == (7, 7, 1)
        assert not waiting.done()
        held.set()
        assert waiting.result() == 7
