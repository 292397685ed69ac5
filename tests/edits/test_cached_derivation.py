"""Properties that are computed once for each frozen value."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from fairlead.edits.cached_derivation import cached_derivation


class Text:
    def __init__(self, may_go_on: Event) -> None:
        self._may_go_on = may_go_on
        self.computed = 0

    @cached_derivation
    def length(self) -> int:
        self.computed += 1
        assert self._may_go_on.wait(10)
        return 7


def test_a_long_computation_does_not_delay_others() -> None:
    """A long text is compared in a thread while the user's other files are shown; each value is computed once."""
    free, held = Event(), Event()
    free.set()
    short, long = Text(free), Text(held)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(lambda: long.length)
        assert (short.length, short.length, short.computed) == (7, 7, 1)
        assert not waiting.done()
        held.set()
        assert waiting.result() == 7
