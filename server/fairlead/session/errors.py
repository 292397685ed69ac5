"""The errors of use cases; their texts are written for the user.

Exception
├── RequestRefused    cannot be done now (LSP: RequestFailed)
│   └── Stale         the state that the user decided on has changed (LSP: ContentModified)
└── ValueError
    └── WrongRequest  the values are invalid (LSP: InvalidParams)
"""


class RequestRefused(Exception):
    """The use case cannot be done now; the message says why and what to do."""


class Stale(RequestRefused):
    """The user decided on a state that has changed since."""


class WrongRequest(ValueError):
    """The use case was requested with invalid values."""
