"""The errors of use cases; their texts are written for the user.

Exception
├── RequestRefused    cannot be done now (LSP: RequestFailed)
│   └── Stale         the state that the request is about has changed (LSP: ContentModified)
└── ValueError
    └── WrongRequest  the values are invalid (LSP: InvalidParams)
"""


class RequestRefused(Exception):
    """The use case cannot be done now; the message says why and what to do."""


class Stale(RequestRefused):
    """The request is about a state that has changed since the user saw it, so nothing was done."""


class WrongRequest(ValueError):
    """The use case was requested with invalid values."""
