"""docs/protocol.md matches the code in every name, setting, command and error code.

`scripts/wire.py` generates and checks its tables of methods and shapes.
"""

import json
import re
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from typing import Any, get_args, get_type_hints

import pytest
from lsprotocol.types import LSPErrorCodes
from pygls.exceptions import JsonRpcMethodNotFound

from fairlead.agent.errors import ErrorKind
from fairlead.agent.events import StopReason
from fairlead.agent.tool import ToolKind
from fairlead.app.settings import MINIMUM
from fairlead.lsp import rpc
from fairlead.lsp.editor_code import METHODS
from fairlead.lsp.features.commands import COMMANDS
from fairlead.lsp.features.registry import REQUESTS
from fairlead.session.settings import Settings
from fairlead.wire import protocol as wire
from fairlead.wire.messages import (
    CLIENT_NOTIFICATIONS,
    CLIENT_REQUESTS,
    SERVER_NOTIFICATIONS,
    SERVER_REQUESTS,
)
from protocol.messages import goldens
from protocol.page import ROOT, Page, blocks, column, names, plain, tables
from protocol.shapes import written

NAMES = {value for name, value in vars(wire).items() if name.isupper() and isinstance(value, str)}
OUR_NAME = re.compile(r"\bagent/[A-Za-z]+(?:/[A-Za-z]+)*|\bfairlead\.server\.[A-Za-z]+")


@pytest.fixture
def page() -> Page:
    return Page()


def test_every_name_in_the_code_is_in_the_page(page: Page) -> None:
    """The page has every method, command and scheme, and every action of a plain client's question."""
    assert [name for name in NAMES if f"`{name}" not in page.text and f'"{name}"' not in page.text] == []


def test_every_name_in_the_page_is_in_the_code(page: Page) -> None:
    """Every method and every command of the server that the page names exists."""
    assert set(OUR_NAME.findall(page.text)) - NAMES == set()


def test_the_server_serves_what_the_page_lists(page: Page) -> None:
    """The server has a handler for each request and command of the page, and for no others, in the same order."""
    assert list(REQUESTS) == list(CLIENT_REQUESTS)
    served = [tuple(handler.__annotations__.values())[1:] for handler in REQUESTS.values()]
    assert served == list(CLIENT_REQUESTS.values()), "a handler has other params or another result"
    assert column(tables(page.section("Commands"))[0]) == list(COMMANDS) == list(wire.COMMANDS)
    methods = {*CLIENT_REQUESTS, *CLIENT_NOTIFICATIONS, *SERVER_REQUESTS, *SERVER_NOTIFICATIONS, *METHODS.values()}
    assert methods == {name for name in NAMES if name.startswith("agent/")}


def test_every_shape_of_the_section_is_generated(page: Page) -> None:
    """Each heading of the section Shapes is followed by the generated table of its shape."""
    section = page.section("Shapes")
    assert page.headings(3, section) == re.findall(r"^### .*\n\n<!-- wire: (\w+) -->$", section, re.M)


def test_every_setting_has_its_default_its_choices_and_its_least_value(page: Page) -> None:
    """The table is exactly the Settings of the code."""
    table = tables(page.section("Settings"))[0]
    assert {row[0].strip("`"): [plain(cell) for cell in row[1:4]] for row in table} == dict(_settings(Settings()))


def test_the_settings_page_has_the_same_settings(page: Page) -> None:
    """The table of docs/settings.md has exactly the settings of the code, with the same defaults."""
    rows = tables(Page(ROOT / "docs" / "settings.md").text)[0]
    assert {row[0].strip("`"): plain(row[1]) for row in rows} == {
        name: cells[1] for name, cells in _settings(Settings())
    }


def _settings(value: Any, prefix: str = "") -> list[tuple[str, list[str]]]:
    """Each setting with its type, default and least value, as the page writes them."""
    found: list[tuple[str, list[str]]] = []
    for field in dataclass_fields(value):
        name = re.sub(r"_([a-z])", lambda match: match[1].upper(), field.name)
        default = getattr(value, field.name)
        if is_dataclass(default):
            found += _settings(default, f"{prefix}{name}.")
            continue
        least = str(MINIMUM[name]) if name in MINIMUM else ""
        kind = written(get_type_hints(type(value))[field.name])
        found.append((f"{prefix}{name}", [kind, json.dumps(default), least]))
    return found


def test_every_word_of_an_open_list_is_explained(page: Page) -> None:
    """The page lists every stop reason, every kind of error and every kind of tool, and no others."""
    stops = tables(page.section("RunResult", level=3))[1]
    assert sorted(column(stops)) == sorted(get_args(StopReason))
    assert sorted(column(tables(page.section("RunError", level=3))[1])) == sorted(get_args(ErrorKind))
    kinds = re.search(r"`toolKind` is one of ([^.]*)\.", page.text)
    assert kinds
    assert names(kinds[1]) == list(get_args(ToolKind))


def test_every_error_code_is_explained(page: Page) -> None:
    """The table has the error codes of the server, of JSON-RPC and of LSP that a client can receive, and no others."""
    ours = [value for module in (wire, rpc) for name, value in vars(module).items() if name.isupper()]
    codes = {value for value in ours if isinstance(value, int) and value < 0}
    codes |= {JsonRpcMethodNotFound.CODE, LSPErrorCodes.RequestCancelled.value}
    assert {int(row[0]) for row in tables(page.section("Errors"))[0]} == codes


def test_the_requests_about_code_are_those_of_lsp(page: Page) -> None:
    """The table has a row for each method that the editor's provider maps, with LSP's own name."""
    [table] = tables(page.section("The editor's language support", level=3))
    assert [(names(row[0])[0], names(row[1])[0]) for row in table] == [
        (ours, theirs) for theirs, ours in METHODS.items()
    ]


async def test_the_approval_in_the_page_is_the_golden(page: Page) -> None:
    """The example of `agent/approve` is the message of tests/goldens/."""
    [example] = blocks(page.section("Requests from the server"), "json")
    made = {golden.name: golden for golden in await goldens()}
    assert json.loads(example) == json.loads(made["approve.params"].text)["params"]


def test_sections_and_tables_of_a_page_are_read() -> None:
    """A section ends where the next begins, and an escaped bar does not end a cell."""
    page = Page()
    assert "Requests from the client" not in page.section("Settings")
    [row] = tables('\n| a | b |\n|---|---|\n| `x` | `"p" \\| null` |\n')[0]
    assert (names(row[0]), plain(row[1])) == (["x"], '"p" | null')
