"""docs/record.md: the tables are the fields of the code's values, in order, with their types."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from fairlead.edits.diff import HunkPosition
from fairlead.edits.review_outcomes import ReviewStatus
from fairlead.plan.history import PlanAuthor
from fairlead.plan.items import Status
from fairlead.session.record import document
from protocol.page import ROOT, Page, plain, tables

PAGE = Page(ROOT / "docs" / "record.md")
VALUES: dict[str, Any] = {
    "Record": document.SessionRecord,
    "PlanVersion": document.PlanVersion,
    "PlannedItem": document.PlannedItem,
    "Step": document.Step,
    "Outside": document.WorkOutside,
    "Work": document.Work,
    "ToolCall": document.ToolCall,
    "Command": document.RanCommand,
    "Change": document.Change,
    "Cost": document.ChangesCost,
    "Hunk": HunkPosition,
    "Verification": document.Verification,
    "File": document.KnownFile,
    "Content": document.FileContent,
}
PLAIN: dict[Any, str] = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
# the page describes the states of a verification in words instead of listing them, and names the only format
WRITTEN = {("Step", "verification"): "string", ("Record", "format"): "1"}
NAMES = {value: name for name, value in VALUES.items()}


def written(hint: Any) -> str:
    if is_dataclass(hint):
        return NAMES[hint]
    if get_origin(hint) is Literal:
        return " | ".join(f'"{value}"' for value in get_args(hint))
    if get_origin(hint) is tuple:
        return f"{written(get_args(hint)[0])}[]"
    if get_origin(hint) is Mapping:
        return f"{{[path: string]: {written(get_args(hint)[1])}}}"
    return " | ".join(map(written, get_args(hint))) if get_args(hint) else PLAIN[hint]


def camel(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(map(str.capitalize, more))


def test_the_page_has_the_values_of_the_code() -> None:
    assert PAGE.headings(3, PAGE.section("The format")) == list(VALUES)


@pytest.mark.parametrize("name", VALUES)
def test_a_table_has_the_fields_of_its_value(name: str) -> None:
    table = tables(PAGE.section(name, level=3))[0]
    hints = get_type_hints(VALUES[name]).items()
    found = [(plain(row[0]), plain(row[1])) for row in table]
    assert found == [(camel(field), WRITTEN.get((name, camel(field)), written(hint))) for field, hint in hints]


def test_the_page_names_every_choice_of_the_code() -> None:
    choices = {*get_args(PlanAuthor), *get_args(Status), *get_args(ReviewStatus)}
    assert [choice for choice in choices if f'"{choice}"' not in PAGE.text] == []
