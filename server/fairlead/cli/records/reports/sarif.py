"""A verification as SARIF 2.1.0, the form of findings in code: a result for each file and check that does not hold."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from fairlead import __version__
from fairlead.cli.view.text import clean
from fairlead.display import escape_to_one_line
from fairlead.session.record.result import VerifyResult
from fairlead.session.record.verify import Finding

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES = {
    "file": "A file does not have the content that the record of the session says.",
    "check": "A check that passed in the session does not pass.",
}


def sarif_text(result: VerifyResult) -> bytes:
    """One run of the tool. What is about no file, such as a refusal, is a notification of the tool."""
    notices = [f"{each.subject}: {each.text}" for each in result.origin if not each.holds]
    notices += [each for each in (result.refusal, result.unrun) if each]
    results = list(_results(result))
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "Fairlead",
                "version": __version__,
                "rules": [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not notices,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": escape_to_one_line(text)}} for text in notices
                ],
            }
        ],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    return f"{json.dumps({'$schema': SCHEMA, 'version': '2.1.0', 'runs': [run]}, indent=2)}\n".encode()


def _results(result: VerifyResult) -> Iterator[dict[str, Any]]:
    for finding in result.files:
        if not finding.holds:
            yield _result("file", finding, [result.folder + finding.subject])
    for finding in result.checks:
        if not finding.holds:
            yield _result("check", finding, [result.folder + file for file in result.files_of(finding)])


def _result(rule: str, finding: Finding, files: list[str]) -> dict[str, Any]:
    """A result at the beginning of files."""
    text = f"{escape_to_one_line(finding.subject)}: {escape_to_one_line(finding.text)}"
    if finding.output:
        text += f"\n{clean(finding.output)}"
    locations = [
        {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": 1}}} for file in files
    ]
    fingerprint = hashlib.sha256(f"{rule}\0{finding.subject}".encode("utf-8", "replace")).hexdigest()
    return {
        "ruleId": rule,
        "level": "error",
        "message": {"text": text},
        "locations": locations,
        "partialFingerprints": {"fairlead/v1": fingerprint},
    }


def _uri(path: str) -> str:
    return quote(path, errors="replace")
