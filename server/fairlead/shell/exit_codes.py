"""Which commands decide the exit code of a line, so that exit code 0 means that they all succeeded."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_SEQUENCES = {"program", "compound_statement", "subshell"}
_REDEFINING = {b"trap", b"alias", b"exec"}  # can replace a later command or the exit code
_FAILURE = re.compile(rb"false|exit [1-9][0-9]*")
MAX_DEPTH = 50  # of nested nodes; deeper ones decide nothing


def deciding_commands(root: "Node", source: bytes) -> frozenset[int]:
    """The ids of the `command` nodes that must all succeed for the line to exit with 0, if `pipefail` is set.

    Empty if the line contains functions, traps or the like, with which any command can have any effect.
    """
    nodes = list(_descendants(root))
    names = {source[n.children[0].start_byte : n.children[0].end_byte] for n in nodes if n.type == "command"}
    if names & _REDEFINING or any(node.type == "function_definition" for node in nodes):
        return frozenset()
    return frozenset(_deciding(root, source, errexit=False, depth=0))


def _descendants(node: "Node", depth: int = 0) -> Iterator["Node"]:
    yield node
    if depth < MAX_DEPTH:
        for child in node.named_children:
            yield from _descendants(child, depth + 1)


def _deciding(node: "Node", source: bytes, *, errexit: bool, depth: int) -> Iterator[int]:
    if depth > MAX_DEPTH:
        return
    depth += 1
    if node.type == "command":
        yield node.id
    elif node.type in _SEQUENCES:
        yield from _deciding_in_sequence(node.children, source, errexit=errexit, depth=depth)
    elif node.type == "pipeline":
        for child in node.named_children:
            yield from _deciding(child, source, errexit=errexit, depth=depth)
    elif node.type == "redirected_statement":
        yield from _deciding(node.children[0], source, errexit=errexit, depth=depth)
    elif node.type == "list":
        left, operator, right = node.children[0], node.children[1].type, node.children[-1]
        if operator == "&&":
            yield from _deciding(right, source, errexit=errexit, depth=depth)
        if operator == "&&" or _FAILURE.fullmatch(source, right.start_byte, right.end_byte):
            yield from _deciding(left, source, errexit=errexit, depth=depth)


def _deciding_in_sequence(children: Sequence["Node"], source: bytes, *, errexit: bool, depth: int) -> Iterator[int]:
    """The last statement decides, and after `set -e` each one does. A background statement never does."""
    statements = [child for child in children if child.is_named and child.type != "comment"]
    in_background = {one.id for one, two in pairwise(children) if two.type == "&"}
    for statement in statements:
        is_last = statement is statements[-1]
        if statement.id not in in_background and (is_last or errexit):
            # `set -e` does not apply to the left side of &&
            counted = statement if is_last or statement.type != "list" else statement.children[-1]
            yield from _deciding(counted, source, errexit=errexit, depth=depth)
        errexit = errexit or _sets_errexit(statement, source)


def _sets_errexit(statement: "Node", source: bytes) -> bool:
    words = source[statement.start_byte : statement.end_byte].split()
    return (
        statement.type == "command"
        and words[:1] == [b"set"]
        and any(
            word == b"errexit"
            or (word.startswith(b"-") and not word.startswith(b"--") and b"e" in word.partition(b"o")[0])
            for word in words[1:]
        )
    )
