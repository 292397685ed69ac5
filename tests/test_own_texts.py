"""A message says what it is, so nothing has to recognize Fairlead's own texts."""

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import fairlead

SERVER = Path(fairlead.__file__).parent
PACKAGES = ("acp", "agent", "app", "cli", "lsp", "messages", "plan", "session")
TEXTS_OF_OTHERS = {
    "agent.textual_calls": "the model's text",
    "session.context.attachments": "Git's diffs",
}
"""The modules that recognize a text which Fairlead did not write."""
PROSE = re.compile(r"[A-Za-z]{2,}[,.:;]? [A-Za-z]{2,}|^\^?</?\??\w|^ [A-Z]\w+ $")
"""Two words, a tag, or a word that is cut out of a sentence."""
SEARCHES = re.compile(
    "(starts|ends)with|remove(pre|suf)fix|r?(partition|split|find|index)|count|compile|match|search|fullmatch|findall"
    "|finditer|subn?"
)


def recognized(source: str, names: Mapping[str, Any]) -> Iterator[str]:
    """The places where code compares a text with prose, or searches it for prose.

    Args:
        names: the values of the module's names.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left, ops, comparators):
                equal = any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in ops)
                operands = [left, *comparators] if equal else []
            case ast.Call(ast.Attribute(attr=attribute), operands) if SEARCHES.fullmatch(attribute):
                pass
            case ast.MatchValue(value):
                operands = [value]
            case _:
                continue
        texts = (_text(inner, names) for operand in operands for inner in _parts(operand))
        yield from (f"{node.lineno}: {text!r}" for text in texts if PROSE.search(text))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The node and the nodes in it, without the arguments of calls."""
    yield node
    for inner in [node.func] if isinstance(node, ast.Call) else ast.iter_child_nodes(node):
        yield from _parts(inner)


def _text(node: ast.AST, names: Mapping[str, Any]) -> str:
    value = node.value if isinstance(node, ast.Constant) else names.get(node.id) if isinstance(node, ast.Name) else ""
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_recognizes_a_text_of_ours(package: str) -> None:
    found: list[str] = []
    for path in sorted((SERVER / package).rglob("*.py")):
        module = ".".join(path.relative_to(SERVER).with_suffix("").parts).removesuffix(".__init__")
        if module not in TEXTS_OF_OTHERS:
            names = vars(importlib.import_module(f"fairlead.{module}"))
            found += [f"{module}:{place}" for place in recognized(path.read_text(encoding="utf-8"), names)]
    assert found == []


@pytest.mark.parametrize(
    ("source", "is_recognized"),
    [
        ('result.startswith("Not run: the answer ")', True),
        ('message.endswith(SAVED.rpartition("}")[2])', True),
        ("text == SAVED", True),
        (r'_REFUSED = re.compile(r"^The check of (#.+?) failed")', True),
        ('re.compile(r"</?reminder>").sub("", text)', True),
        ('text.partition(" Rewrite ")', True),
        ('path.endswith(".jsonl")', False),
        ('note.kind == "new_errors"', False),
        ('text.split("\\n\\n")', False),
        ("name in names", False),
        ('ask("Which version?") == "agent"', False),
    ],
)
def test_what_counts_as_recognizing_a_text(source: str, is_recognized: bool) -> None:
    assert bool(list(recognized(source, {"SAVED": "{session} is saved again.", "names": ["a b"]}))) == is_recognized
