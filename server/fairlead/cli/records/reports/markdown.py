"""A verification as Markdown, for a comment on a pull request or the summary of a job: a section for each step."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fairlead.cli.view.text import clean
from fairlead.display import escape_to_one_line, shorten
from fairlead.session.record.document import Step
from fairlead.session.record.result import VerifyResult
from fairlead.session.record.verify import Finding
from fairlead.session.report.markdown import code_span

MARKER = "<!-- fairlead-verify -->"
"""The first line, by which a later verification finds the comment that it replaces."""
MAX_CHARACTERS = 60_000  # a comment on GitHub has at most 65,536
_MAX_TEXT = 300
_MAX_OUTPUT = 4_000
_DONE, _FAILED, _UNKNOWN = "✅", "❌", "➖"
_RECORDED = {
    "none": "not completed",
    "looked": "only read",
    "unverified": "verified by nothing",
    "verified": "verified",
    "proved": "verified; its check fails without the changes",
    "stale": "verified before files changed",
    "failed": "a check failed",
    "noEvidence": "nothing happened",
    "marked": "marked as completed by the user",
}
"""What the record says about a step, by `VerificationStatus`."""


def markdown_text(result: VerifyResult) -> bytes:
    """The verdict, where the record is from, a section for each step of the plan, and what belongs to no step.

    Everything that a record or a command says is code, so that it can mention nobody and show no picture or link.
    """
    sections = list(_sections(result))
    text, left = f"{MARKER}\n", len(sections)
    for section in sections:
        if len(text) + len(section) > MAX_CHARACTERS:
            text += f"\n{left} more sections are too long for a comment. The log of the job has them.\n"
            break
        text, left = f"{text}{section}\n", left - 1
    return text.encode("utf-8", "replace")


def _sections(result: VerifyResult) -> Iterator[str]:
    yield f"### {_DONE if result.holds else _FAILED} {_heading(result)}\n"
    if result.opened is None:
        return
    opened = result.opened
    lines = [f"- Task: {_code(opened.record.title)}", f"- Record: {_code(opened.digest)}"]
    if result.commit:
        lines.append(f"- Commit: {_code(result.commit)}")
    lines += map(_line, result.origin)
    yield "\n".join(lines) + "\n"
    shown = set[str]()
    for number, step in enumerate((each for each in opened.record.steps if not each.dropped), 1):
        findings = result.findings_of(step)
        # several steps may have one check, whose output is shown once
        yield _step(number, step, [replace(each, output="") if each.subject in shown else each for each in findings])
        shown |= {each.subject for each in findings}
    others = [each for each in (*result.files, *result.checks) if each.subject not in shown]
    if others:
        yield _section("Other files and checks", others)
    notes = [*result.notes, *([f"The checks did not run: {result.unrun}"] if result.unrun else [])]
    if notes:
        yield "#### Not verified\n\n" + "\n".join(f"- {_code(each)}" for each in notes) + "\n"


def _heading(result: VerifyResult) -> str:
    """The verdict. The reason of a refusal may quote the record, so it is code."""
    return f"The record is refused: {_code(result.refusal)}" if result.refusal else result.verdict


def _step(number: int, step: Step, findings: Sequence[Finding]) -> str:
    mark = _UNKNOWN if not findings else _DONE if all(each.holds for each in findings) else _FAILED
    recorded = f"In the session: {_RECORDED[step.verification]}"
    recorded += f" ({_code(step.decided_by)})" if step.decided_by else ""
    return _section(f"{mark} {number}. {_code(step.content)}", findings, f"- {recorded}")


def _section(heading: str, findings: Sequence[Finding], *lines: str) -> str:
    return f"#### {heading}\n\n" + "\n".join([*lines, *map(_line, findings)]) + "\n"


def _line(finding: Finding) -> str:
    line = f"- {_DONE if finding.holds else _FAILED} {_code(finding.subject)} {_code(finding.text)}"
    return line + (f"\n\n{_block(finding.output)}\n" if finding.output else "")


def _code(text: str) -> str:
    """A text as code on one line, shortened; a space if it is empty."""
    return code_span(shorten(escape_to_one_line(text), _MAX_TEXT) or " ")


def _block(output: str) -> str:
    """The end of an output as a block of code in a list item."""
    text = clean(output)[-_MAX_OUTPUT:]
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return "\n".join(f"  {line}" for line in [fence, *text.splitlines(), fence])
