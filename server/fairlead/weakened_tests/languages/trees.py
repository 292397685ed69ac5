"""Syntax trees by tree-sitter, and what the readers of all its languages share."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from fairlead.weakened_tests.outline import Strength

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_BYTES = 500_000
"""Longer texts are not read, to limit the time."""
# Scanners of grammars have crashed on characters beyond ASCII (tree-sitter-bash issue 337), and letters are all that
# matters about them here.
_ASCII = bytes(range(128)) + b"x" * 128
_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"-?(\d[\d_]*\.?\d*([eE][-+]?\d+)?|\.\d+)")


class Tree:
    """The syntax tree of a text.

    Args:
        language: `javascript`, `typescript`, `tsx`, `go`, `java` or `rust`.
    """

    def __init__(self, language: str, text: str) -> None:
        self._source = text.encode("utf-8", "surrogatepass")
        self.root = _parser(language).parse(self._source.translate(_ASCII)).root_node

    def code(self, node: "Node | None") -> str:
        """The code of a node as a formatter could not change it; empty for None."""
        if node is None:
            return ""
        text = self.text(node)
        return _SPACE.sub("", text).replace(",)", ")").replace(",]", "]").replace(",}", "}").replace("'", '"')

    def text(self, node: "Node") -> str:
        """The text of a node."""
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def words(self, node: "Node") -> frozenset[str]:
        """The identifiers in a node."""
        return frozenset(self.text(each) for each in walk(node) if each.type.endswith("identifier"))


def walk(node: "Node", enters: "Callable[[Node], bool]" = lambda _: True) -> "Iterator[Node]":
    """A node and those in it, in the order of the text, without those in nodes that `enters` refuses."""
    waiting = [node]
    while waiting:
        now = waiting.pop()
        yield now
        if now is node or enters(now):
            waiting += reversed(now.named_children)


def line_of(node: "Node") -> int:
    """The first line of a node, from 0."""
    return node.start_point[0]


def number_in(text: str) -> float | None:
    """The number that a text is; None if it is none."""
    text = text.strip().rstrip("fFdDlL")
    return float(text.replace("_", "")) if _NUMBER.fullmatch(text) else None


_OPERATORS = {
    "===": Strength.EXACT,
    "!==": Strength.VAGUE,
    "==": Strength.EXACT,
    "!=": Strength.VAGUE,
    "<=": Strength.PARTIAL,
    ">=": Strength.PARTIAL,
    "<": Strength.PARTIAL,
    ">": Strength.PARTIAL,
}
_CONSTANT = re.compile(r"(true|false|null|nil|None|\d[\w.]*|\"[^\"]*\")")


def split_condition(code: str) -> tuple[str, Strength, str, str]:
    """What a condition is called, how much it says if it holds, about what, and compared with what.

    Args:
        code: as from `Tree.code`.
    """
    if _CONSTANT.fullmatch(code):
        return code, Strength.NOTHING, code, ""
    depth, quoted = 0, False
    for at, char in enumerate(code):
        quoted ^= char == '"' and code[at - 1 : at] != "\\"
        depth += (char in "([{") - (char in ")]}")
        if quoted or depth:
            continue
        if code.startswith("||", at):
            left = split_condition(code[:at])
            always = "true" in (code[:at], code[at + 2 :])
            return "||", Strength.NOTHING if always else min(Strength.PARTIAL, left[1]), left[2], code
        for operator, strength in _OPERATORS.items():
            if code.startswith(operator, at) and code[at : at + 2] not in ("->", "=>", "<<", ">>"):
                left, right = code[:at], code[at + len(operator) :]
                if left == right:
                    return operator, Strength.NOTHING, left, right
                if right in ("true", "false"):
                    return "true", Strength.VAGUE, left, ""
                return operator, strength, left, right
    return "true", Strength.VAGUE, code.lstrip("!"), ""


@cache
def _parser(language: str) -> "Parser":
    # takes 10 ms for the library and 1 ms for a grammar, which a session without such tests does not need
    import tree_sitter  # noqa: PLC0415

    match language:
        case "typescript" | "tsx":
            import tree_sitter_typescript  # noqa: PLC0415

            is_tsx = language == "tsx"
            grammar = tree_sitter_typescript.language_tsx() if is_tsx else tree_sitter_typescript.language_typescript()
        case "go":
            import tree_sitter_go  # noqa: PLC0415

            grammar = tree_sitter_go.language()
        case "java":
            import tree_sitter_java  # noqa: PLC0415

            grammar = tree_sitter_java.language()
        case "rust":
            import tree_sitter_rust  # noqa: PLC0415

            grammar = tree_sitter_rust.language()
        case _:
            import tree_sitter_javascript  # noqa: PLC0415

            grammar = tree_sitter_javascript.language()
    return tree_sitter.Parser(tree_sitter.Language(grammar))
