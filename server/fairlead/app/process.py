"""What each process that serves a protocol does at its start and its end."""

import logging
import os
import sys
import threading

log = logging.getLogger(__name__)

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
CLOSE_SECONDS = 4.0
"""How long runs and other tasks may take to end after the client has disconnected."""
END_SECONDS = 1.0
"""How long the process may take to exit after that."""


def configure_log(wanted: str) -> None:
    """Logs to stderr: Fairlead at the wanted level, and other libraries at WARNING.

    A wanted level that is empty or unknown counts as WARNING.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_is_harmless)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, format=LOG_FORMAT, force=True)
    level = wanted.strip().upper() or "WARNING"
    logging.getLogger("fairlead").setLevel(level if level in LEVELS else "WARNING")
    if level not in LEVELS:
        log.warning("FAIRLEAD_LOG=%.40r is unknown, so WARNING is used; the levels are %s", wanted, ", ".join(LEVELS))


def _is_harmless(record: logging.LogRecord) -> bool:
    """Whether a record may be logged. Below WARNING, libraries log the headers and bodies of requests, with secrets.

    The levels of the loggers are not enough: some libraries set their own level from a variable, such as ANTHROPIC_LOG,
    when they are imported.
    """
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] == "fairlead"


def schedule_exit(code: int) -> None:
    """Ends the process after `END_SECONDS` even if a thread is still running, because threads cannot be cancelled."""
    timer = threading.Timer(END_SECONDS, os._exit, (code,))
    timer.daemon = True
    timer.start()
