"""Asks TypeScript's server for problems, with the command of typescript-language-server that forwards requests to it.

typescript-language-server does not answer requests for diagnostics. It publishes them, but stays silent when the text
before a change and the text after it have no problems. The same silence can mean that a check is not finished. vtsls
has the same command.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlead.json_values import fields_of, is_list, is_object

COMMAND = "typescript.tsserverRequest"
REQUESTS = ("syntacticDiagnosticsSync", "semanticDiagnosticsSync", "suggestionDiagnosticsSync")
"""TypeScript's requests for the problems in a file. typescript-language-server publishes their combined answers."""
_SEVERITIES = {"error": 1, "warning": 2, "suggestion": 4}  # LSP 3.18, `DiagnosticSeverity`


def is_available(capabilities: Mapping[str, Any]) -> bool:
    """Whether a server with these capabilities has the command."""
    commands = fields_of(capabilities.get("executeCommandProvider")).get("commands")
    return is_list(commands) and COMMAND in commands


def params(request: str, path: Path) -> dict[str, Any]:
    """The params of `workspace/executeCommand` that send one of `REQUESTS` about an open document."""
    return {"command": COMMAND, "arguments": [request, {"file": str(path)}]}


def diagnostics(answer: Any) -> list[dict[str, Any]] | None:
    """The answer to one of `REQUESTS` as LSP's `Diagnostic`s; None if TypeScript's server has no result.

    Raises:
        KeyError, TypeError: the answer is something else.
    """
    body = fields_of(answer).get("body")
    if not is_list(body):
        return None
    return [_diagnostic(item) for item in body if is_object(item)]


def _diagnostic(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "range": {"start": _position(item["start"]), "end": _position(item["end"])},
        "message": item["text"],
        "severity": _SEVERITIES.get(item["category"], 1),
        "code": item.get("code"),
        "source": item.get("source") or "typescript",
    }


def _position(location: Mapping[str, Any]) -> dict[str, int]:
    """Converts a position to LSP's. TypeScript counts lines and UTF-16 columns from 1."""
    return {"line": location["line"] - 1, "character": location["offset"] - 1}
