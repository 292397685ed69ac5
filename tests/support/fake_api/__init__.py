"""The strict fake of the Messages API: a real HTTP server on loopback that plays a script.

It refuses what the API refuses. Tests import the names below from here.
"""

from .server import FakeApi, Request
from .turns import (
    Answer,
    BadJson,
    Block,
    Call,
    Cut,
    HttpError,
    MaxTokensCut,
    MidStreamError,
    Page,
    Raw,
    Scripted,
    Text,
    Thinking,
    Turn,
    Wait,
    event_names,
)
from .window import FakeWindow

__all__ = [
    "Answer",
    "BadJson",
    "Block",
    "Call",
    "Cut",
    "FakeApi",
    "FakeWindow",
    "HttpError",
    "MaxTokensCut",
    "MidStreamError",
    "Page",
    "Raw",
    "Request",
    "Scripted",
    "Text",
    "Thinking",
    "Turn",
    "Wait",
    "event_names",
]
