"""The other pages: rules and cases are complete, tools, options and modules match the code, and links have targets."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.__main__ import main
from fairlead.code.queries import CodeQueries
from fairlead.lsp.documents import Documents
from fairlead.plan import TodoManager
from fairlead.tools.delegate import Delegate
from fairlead.tools.explore import Explore
from fairlead.tools.table import code_tools, tool_table
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from protocol.page import ROOT, Page, names, params, tables
from support.line_server import LineServers
from support.scenario import scenarios
from tools.stand_ins import ScriptedUser, direct_commands, own_checks

PLAN = Page(ROOT / "docs" / "plan.md")
FAULTS = Page(ROOT / "docs" / "faults.md")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
RULES = [f"P{n}" for n in range(1, 27)] + [f"L{n}" for n in range(1, 20)]
LISTED = r"\d+(?:(?:,? and |, | to )\d+)*"


def test_every_rule_is_on_the_page_once() -> None:
    """docs/plan.md: P1 to P26 and L1 to L19, in order."""
    assert re.findall(r"^\*\*([PL]\d+)\.", PLAN.text, re.M) == RULES


async def test_the_table_lists_the_tools_and_their_inputs(tmp_path: Path) -> None:
    """docs/plan.md L2: the tools are in the same order, each with its inputs; `?` marks optional ones."""
    documents = Documents()
    commands = direct_commands(tmp_path, ScriptedUser("reject"))
    commands = replace(commands, unavailable="")  # with a sandbox, bash takes more
    files = Files(Roots.of(tmp_path), documents)
    code = CodeQueries(files, LineServers(), lambda: None)
    (tmp_path / "a.x").touch()
    await code.update_can_answer()

    async def start(*_: object) -> str:
        return ""

    tools = tool_table(files, TodoManager(), commands, own_checks(files, commands))
    tools |= {"explore": Explore(start), **code_tools(files, commands.gate, code), "delegate": Delegate([], start)}
    schemas = {name: tool.spec.input_schema for name, tool in tools.items()}
    # `todo` accepts its list under another name too, so its schema does not require it (P1)
    needed = {name: schema.get("required", ["items"] if name == "todo" else []) for name, schema in schemas.items()}
    rows = tables(PLAN.section("The loop"))[0]
    assert [(names(row[0])[0], params(", ".join(names(row[1])))) for row in rows] == [
        (name, {each: each in needed[name] for each in schema["properties"]}) for name, schema in schemas.items()
    ]


def test_every_case_is_on_the_page_once() -> None:
    """docs/faults.md: no number occurs twice, 1 to 47 exist, and each case has a state that the page explains."""
    rows = list(_cases())
    numbers = [int(row[0]) for row in rows]
    assert len(numbers) == len(set(numbers))
    assert set(numbers) >= set(range(1, 48))
    known = [row[0] for row in tables(FAULTS.text)[0]]
    assert {_state(row) for row in rows} <= set(known)
    assert all(": " in row[3] for row in rows if _state(row) == "partly")


def test_the_states_of_the_cases_are_correct() -> None:
    """docs/faults.md: a case is `tested` or `partly` if a test names it, and only then."""
    tested = {number for path in _test_files() for text in _guarantees(path) for number in _faults_named(text)}
    client = [path.read_text(encoding="utf-8") for path in (ROOT / "client" / "test").glob("*.ts")]
    tested |= {int(number) for text in client for number in re.findall(r'"docs/faults\.md (\d+): ', text)}
    tested |= {number for scenario in scenarios("edits") for number in _faults_named(scenario.name)}
    claimed = {int(row[0]) for row in _cases() if _state(row) in ("tested", "partly")}
    assert {"claimed without a test": claimed - tested, "tested but not claimed": tested - claimed} == {
        "claimed without a test": set(),
        "tested but not claimed": set(),
    }


def test_the_rules_are_tested() -> None:
    """docs/plan.md: every rule is named by a test."""
    text = "\n".join(name for path in _test_files() for name in _guarantees(path))
    named = {rule.upper() for rule in re.findall(r"(?<![A-Za-z0-9])[PLpl]\d+(?![A-Za-z0-9])", text.replace("_", " "))}
    assert [rule for rule in RULES if rule not in named] == []


@pytest.mark.parametrize(
    ("command", "section"), [("run", "Options"), ("models", "Models"), ("verify", "Verifying a record")]
)
def test_the_page_has_the_options_of_the_command(
    command: str, section: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/terminal.md lists every option of the command and no others."""
    assert main([command, "--help"]) == 0
    offered = set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", capsys.readouterr().out, re.M)) - {"--help"}
    table = tables(Page(ROOT / "docs" / "terminal.md").section(section))[0]
    assert {name.split()[0] for row in table for name in names(row[0])} == offered


def test_the_code_map_matches_the_code() -> None:
    """ARCHITECTURE.md: each package has a heading, and each Python module that the page names exists."""
    package = ROOT / "server" / "fairlead"
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    headed: set[str] = set()
    missing: list[str] = []
    for part in re.split(r"^(?=##)", text, flags=re.M):
        folders = re.findall(r"`(\w+)/`", part.splitlines()[0]) or ["."]
        headed |= set(folders)
        names = re.findall(r"`([a-z_/]+\.py)`", part)
        missing += [
            name for name in names if not any((package / each / name).is_file() for each in ("../..", ".", *folders))
        ]
    packages = {path.name for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {"without a heading": packages - headed - {"example"}, "missing": missing} == {
        "without a heading": set(),
        "missing": [],
    }


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """The linked files exist, and so do the headings."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if not _leads_somewhere(path, link)] == []


def _leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    if not target.exists() or not anchor:
        return target.exists()
    headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.M)
    return anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _cases() -> Iterator[list[str]]:
    for table in tables(FAULTS.text)[1:]:
        yield from table


def _state(row: list[str]) -> str:
    return row[3].partition(":")[0]


def _test_files() -> list[Path]:
    return sorted((ROOT / "tests").rglob("test_*.py"))


def _guarantees(path: Path) -> Iterator[str]:
    """The names and docstrings of a file's tests, and the ids of their parameters that name a fault."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield f"{node.name} {ast.get_docstring(node) or ''}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("fault_"):
            yield node.value


def _faults_named(text: str) -> Iterator[int]:
    yield from map(int, re.findall(r"fault_(\d+)", text))
    for listed in re.findall(rf"docs/faults\.md ({LISTED})", text):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", listed):
            yield from range(int(first), int(last or first) + 1)
