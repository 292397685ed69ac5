"""Parses a bash command line into simple commands, and says what in it is unclear. No I/O."""

import time
from functools import cache
from typing import TYPE_CHECKING

from fairlead.display import escape_invisible
from fairlead.sentences import Sentence
from fairlead.shell.command_line.simple_commands import Parsed
from fairlead.shell.command_line.tree_reader import read_tree

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_BYTES = 50_000
MAX_PIPES = 1000  # parsing takes quadratic time for pipes, and MAX_SECONDS does not interrupt that
MAX_SECONDS = 0.2  # for parsing
_SHORT_BYTES = 2000  # so few are parsed within MAX_SECONDS, whatever they are

# The grammar's scanner can crash the process on characters beyond its table (tree-sitter-bash issue 337), so it gets
# only ASCII. For bash, all other characters are letters, though not in a variable's name.
_ASCII = bytes(range(128)) + b"x" * 128


def parse(command: str) -> Parsed:
    """Parses any text. Never raises. If `unclear` is empty, bash runs no commands except the returned ones.

    A text that is too long or too complex, or that contains a NUL or a carriage return, is unclear and has no commands.
    """
    unclear: list[str] = []
    if escape_invisible(command) != command:
        unclear.append(Sentence("It contains characters that are invisible or change the direction of the text."))
    source = command.encode("utf-8", "surrogatepass")
    if len(source) > MAX_BYTES or source.count(b"|") > MAX_PIPES:
        too_long = Sentence("It has more than {0} bytes or {1} pipes and was not checked.", f"{MAX_BYTES:,}", MAX_PIPES)
        return Parsed((), (*unclear, too_long))
    if b"\0" in source or b"\r" in source:  # `unclear` says so, because both are invisible
        return Parsed((), tuple(unclear))
    root = _tree(source.translate(_ASCII))
    if root is None:
        return Parsed((), (*unclear, Sentence("It is too complex and was not checked.")))
    read = read_tree(root, source)
    return Parsed(read.commands, (*unclear, *read.unclear))


def _tree(source: bytes) -> "Node | None":
    """The syntax tree; None if parsing takes too long."""
    if len(source) <= _SHORT_BYTES:  # the parser never frees what it gets from a callback (tree-sitter 0.26.1)
        return _parser().parse(source).root_node
    view = memoryview(source)
    # the time of this thread, so that the answer is the same on a busy machine
    deadline = time.thread_time() + MAX_SECONDS
    parser = _parser()
    try:
        tree = parser.parse(lambda at, _: view[at:], progress_callback=lambda _, __: time.thread_time() > deadline)
    except ValueError:
        parser.reset()
        return None
    return tree.root_node


@cache
def _parser() -> "Parser":
    import tree_sitter  # noqa: PLC0415 - takes 10 ms, and a session without commands does not need it
    import tree_sitter_bash  # noqa: PLC0415 - as above

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
