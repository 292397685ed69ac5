"""A verification as JUnit XML, the form of test results: each file and each check is a test case."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from fairlead.cli.view.text import clean
from fairlead.display import escape_to_one_line
from fairlead.session.record.result import VerifyResult
from fairlead.session.record.verify import Finding

ROOT = b"<testsuites"
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(result: VerifyResult) -> bytes:
    """A suite each for the origin, the files and the checks of a record. A refusal is a case of the first."""
    origin = [*result.origin, *([Finding("record", False, result.refusal)] if result.refusal else [])]
    unrun = [Finding("sandbox", False, result.unrun)] if result.unrun else []
    suites = [("origin", origin), ("files", result.files), ("checks", [*result.checks, *unrun])]
    every = [each for _, findings in suites for each in findings]
    root = ElementTree.Element("testsuites", {"name": "fairlead verify", **_counts(every)})
    for name, findings in suites:
        suite = ElementTree.SubElement(root, "testsuite", {"name": f"fairlead.{name}", **_counts(findings)})
        for finding in findings:
            _add_case(suite, finding)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _counts(findings: Sequence[Finding]) -> dict[str, str]:
    failures = sum(not each.holds for each in findings)
    seconds = sum(each.seconds for each in findings)
    return {"tests": f"{len(findings)}", "failures": f"{failures}", "errors": "0", "time": f"{seconds:.3f}"}


def _add_case(suite: ElementTree.Element, finding: Finding) -> None:
    name, text = _line(finding.subject), _line(finding.text)
    about = {"classname": suite.attrib["name"], "name": name, "time": f"{finding.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", about)
    if not finding.holds:
        failure = ElementTree.SubElement(case, "failure", message=text, type=suite.attrib["name"])
        failure.text = _valid(clean(finding.output)) or text


def _line(text: str) -> str:
    return _valid(escape_to_one_line(text))


def _valid(text: str) -> str:
    """A text without the characters that XML does not have."""
    return _NOT_IN_XML.sub("\ufffd", text)
