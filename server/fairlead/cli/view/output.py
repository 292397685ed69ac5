"""Standard output and error, which can fail at any time: a disk is full, or the program that reads them has ended."""

import contextlib
import io
import os
import sys
from collections.abc import Callable, Generator
from typing import Any, TextIO, cast


class CheckedOutput:
    """A text stream whose errors are remembered, not raised.

    Whoever writes to it, rich and argparse included, needs no error handling. After an error, all output is discarded.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None
        """The first error."""
        self.on_error: Callable[[], object] = lambda: None
        """Called once, at the first error."""

    def write(self, text: str) -> int:
        """Writes all of the text. Returns its length."""
        try:
            self._stream.write(text)
        except OSError as error:
            self._fail(error)
        return len(text)

    def flush(self) -> None:
        """Writes what is buffered."""
        try:
            self._stream.flush()
        except OSError as error:
            self._fail(error)

    def __getattr__(self, name: str) -> Any:
        """The rest is as in the stream."""
        return getattr(self._stream, name)

    def _fail(self, error: OSError) -> None:
        # also for what is still buffered, which Python writes when the process ends
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if self.error is None:
            self.error = error
            self.on_error()


@contextlib.contextmanager
def checked_output() -> Generator[CheckedOutput]:
    """Checks both streams within the context. Yields standard output, and reports its error on standard error."""
    # a stream is None if it was closed at the start
    output, errors = CheckedOutput(sys.stdout or io.StringIO()), CheckedOutput(sys.stderr or io.StringIO())
    with contextlib.redirect_stdout(cast("TextIO", output)), contextlib.redirect_stderr(cast("TextIO", errors)):
        yield output
        output.flush()
        if output.error is not None:
            errors.write(f"fairlead: standard output cannot be written: {output.error.strerror}\n")
        errors.flush()
