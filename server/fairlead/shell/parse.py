"""A command line of bash, taken apart into its simple commands; what is not understood for certain is named.

The grammar is tree-sitter's, and bash reads some texts differently. So only kinds of nodes that are known here count
as understood, no byte between them may be more than white space, and quotes and heredocs are checked a second time.
Nothing here judges a command (policy.py), and nothing is run, looked up or expanded.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from fairlead.shell.output import visible
from fairlead.shell.words import Piece, Word, joined, literal, quoted, unquoted

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LIMIT = 50_000  # bytes; what is longer is not examined
DEPTH = 60  # of nested nodes
PIPES = 1000  # the grammar's time grows with their square, and cannot be bounded from outside there
SECONDS = 0.2  # the grammar's time for anything else; what takes longer is not examined

_STATEMENTS = {
    "program", "list", "pipeline", "negated_command", "subshell", "compound_statement", "if_statement", "elif_clause",
    "else_clause", "while_statement", "do_group",
}  # fmt: skip
_TOKENS = {
    ";", "&", "&&", "||", "|", "|&", "!", "(", ")", "{", "}", "\n", "if", "then", "elif", "else", "fi", "while",
    "until", "do", "done", "for", "in", "$(", "`", "<(", ">(",
}  # fmt: skip
_UNCLEAR = {
    "test_command": "It has a test or a calculation, which may run commands of its own ([ ], [[ ]], (( ))).",
    "arithmetic_expansion": "It has a calculation, which may run commands of its own ($(( ))).",
    "expansion": "It has an expansion that does more than to name a variable (${...}).",
    "function_definition": "It defines a function.",
    "case_statement": "It has a case statement, which is not examined.",
    "c_style_for_statement": "It has a counting loop, which is not examined.",
    "declaration_command": "It sets variables that later commands see.",
    "unset_command": "It removes variables or functions that later commands see.",
}
_KEYWORDS = {
    "coproc", "select", "function", "case", "esac", "if", "then", "elif", "else", "fi", "while", "until", "for", "do",
    "done", "in", "{", "}", "[[", "]]", "!",
}  # fmt: skip
_WORDS = {
    "word", "number", "string", "raw_string", "ansi_c_string", "concatenation", "simple_expansion", "expansion",
    "command_substitution", "process_substitution",
}  # fmt: skip
_WRITING = {">", ">>", ">|", "&>", "&>>", "<>", ">&"}
_UNREAD = "Some of it cannot be read as bash for certain."
_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_LOOP_VARIABLE = re.compile(rb"[a-z]+[0-9]*")
_HEREDOC_NAME = re.compile(rb"([\"']?)(\w+)\1")
_LONE = re.compile(rb"[!{](?:\\\n)*[ \t\n]")  # `!]` and `{}` are words
_REST_OF_LINE = re.compile(rb"(?:[^'\"\\`$]|\"[^\"\\`$]*\"|'[^']*')*")
_CONTINUED = b"\\\n"
# The grammar's scanner looks characters up in a table that ends long before the last one (tree-sitter-bash issue 337),
# which can crash the process, so it sees none but ASCII. To bash the others are letters, but not of a variable's name.
_ASCII = bytes(range(128)) + b"x" * 128
# no other ${...} only names a variable
_NAMED = re.compile(r"\$(?:[A-Za-z_]\w*|\d|[@*#?!$-]|\{[A-Za-z_]\w*\})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Write:
    """A redirection that writes: its operator (`>`, `>>`, ...) and the file."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command with its words; the first is what is run. Without words: assignments or writes that stand alone.

    `assignments` are as written (`CI=1`), `text` is how all of it is written.
    """

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()
    writes: tuple[Write, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """All simple commands wherever they stand, and what was not understood, as sentences for people."""

    commands: tuple[SimpleCommand, ...]
    unclear: tuple[str, ...]


def parse(command: str) -> Parsed:
    """Takes any text apart; never raises. Where `unclear` is empty, bash runs no command but those that are named."""
    unclear: list[str] = []
    if visible(command) != command:
        unclear.append("It has characters that are not shown or change the direction of the text.")
    source = command.encode("utf-8", "surrogatepass")
    if len(source) > LIMIT or source.count(b"|") > PIPES:
        return Parsed((), (*unclear, f"It is longer than {LIMIT:,} bytes or {PIPES:,} pipes, and was not examined."))
    if b"\0" in source or b"\r" in source:
        return Parsed((), tuple(unclear))
    reader = _Reader(source)
    root = _tree(source.translate(_ASCII))
    if root is None:
        return Parsed((), (*unclear, "It is too entangled to be examined."))
    reader.read(root, 0)
    if root.has_error:
        reader.note(_UNREAD)
    if len(reader.unclear) > 1:
        reader.unclear.pop(_UNREAD, None)  # the others say what it is
    return Parsed(tuple(reader.commands), (*unclear, *reader.unclear))


def _tree(source: bytes) -> "Node | None":
    """The grammar's reading; None if it takes too long."""
    view = memoryview(source)
    until = time.monotonic() + SECONDS
    parser = _parser()
    try:
        tree = parser.parse(lambda at, _: view[at:], progress_callback=lambda _, __: time.monotonic() > until)
    except ValueError:
        parser.reset()
        return None
    return tree.root_node


@cache
def _parser() -> "Parser":
    import tree_sitter  # noqa: PLC0415 - 10 ms that a session without commands need not wait for
    import tree_sitter_bash  # noqa: PLC0415 - as above

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


@dataclass
class _Reader:
    """Walks the tree once and collects. It goes on behind what it does not understand: deny rules shall see all."""

    source: bytes
    commands: list[SimpleCommand] = field(default_factory=list)
    unclear: dict[str, None] = field(default_factory=dict)  # a set that keeps its order

    def read(self, node: "Node", depth: int) -> None:
        kind = node.type
        if depth > DEPTH:
            self.note("It is nested too deeply to be examined.")
        elif kind == "command":
            self._command(node, depth)
        elif kind == "redirected_statement":
            self._redirected(node, depth)
        elif kind == "variable_assignment":
            self.commands.append(SimpleCommand((), (self._assignment(node, depth),), text=self.text(node)))
        elif kind == "for_statement":
            self._for(node, depth)
        elif kind == "comment":
            self._comment(node)
        elif kind in _WORDS:
            self.word(node, depth)
        else:
            self._statements(node, depth)

    def note(self, reason: str) -> None:
        self.unclear[reason] = None

    def raw(self, node: "Node") -> bytes:
        return self.source[node.start_byte : node.end_byte]

    def text(self, node: "Node") -> str:
        return self.raw(node).decode("utf-8", "replace")

    def word(self, node: "Node", depth: int) -> Word:
        """A word; commands that it runs to become text are collected."""
        parts = node.children if node.type == "concatenation" else [node]
        if any(one.end_byte != two.start_byte for one, two in pairwise(parts)):
            self.note(_UNREAD)
        return joined([self._piece(part, depth + 1) for part in parts], self.text(node))

    def _piece(self, node: "Node", depth: int) -> Piece:
        kind, text = node.type, self.text(node)
        if kind == "raw_string":
            return literal(text[1:-1])
        if kind in ("command_substitution", "process_substitution"):
            self._substitution(node, depth)
            return Piece(None, splits=kind == "command_substitution")
        if kind in ("word", "number", "string"):
            piece = self._string(node, depth) if kind == "string" else unquoted(text)
            if piece is None:
                self.note(_UNREAD)
            return piece or Piece(None)
        if kind != "ansi_c_string" and not _NAMED.fullmatch(text):
            self._statements(node, depth)
        return Piece(None, splits=kind != "ansi_c_string")

    def _string(self, node: "Node", depth: int) -> Piece | None:
        holes = [child for child in node.children if child.is_named and child.type != "string_content"]
        for hole in holes:
            self._piece(hole, depth)
        starts = [node.start_byte + 1, *(hole.end_byte for hole in holes)]
        ends = [*(hole.start_byte for hole in holes), node.end_byte - 1]
        chunks = [self.source[start:end].decode("utf-8", "replace") for start, end in zip(starts, ends, strict=True)]
        return quoted(chunks, splits=any(b"@" in self.raw(hole) for hole in holes))

    def _substitution(self, node: "Node", depth: int) -> None:
        raw = self.raw(node)
        if raw.startswith(b"`") and (raw.count(b"`") != 2 or b"\\" in raw):  # bash unescapes these before it reads them
            self.note(_UNREAD)
        self._children(node, depth)

    def _statements(self, node: "Node", depth: int) -> None:
        if node.type not in _STATEMENTS:
            self.note(_UNCLEAR.get(node.type, _UNREAD))
        self._children(node, depth)

    def _children(self, node: "Node", depth: int) -> None:
        """Statements and what stands between them."""
        before: Node | None = None
        end = node.start_byte if node.parent else 0
        if node.type in ("negated_command", "compound_statement") and not _LONE.match(self.source, end):
            self.note(_UNREAD)
        for child in node.children:
            gap = self.source[end : child.start_byte].replace(_CONTINUED, b"")
            if gap.strip(b" \t\n") or not (child.is_named or self._is_token(child)):
                self.note(_UNCLEAR.get(node.type, _UNREAD))
            apart = b"\n" in gap or child.type == "comment" or (before and before.type == "elif_clause")
            if before and before.is_named and child.is_named and not apart:
                self.note(_UNREAD)
            if child.is_named:
                self.read(child, depth + 1)
            before, end = child, child.end_byte
        if not self._blank(end, node.end_byte if node.parent else len(self.source), b" \t\n"):
            self.note(_UNREAD)

    def _command(self, node: "Node", depth: int, redirections: "Sequence[Node]" = ()) -> None:
        words: list[Word] = []
        assignments: list[str] = []
        writes: list[Write] = []
        place = len(self.commands)
        end = node.start_byte
        for child in node.children:
            gap = self.source[end : child.start_byte].replace(_CONTINUED, b"")
            if gap.strip(b" \t") or not (gap or child is node.children[0]):
                self.note(_UNREAD)
            end = child.end_byte
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child, depth))
            elif child.type == "command_name" and child.child_count == 1:
                words.append(self.word(child.children[0], depth + 1))
                self._name(words[0])
            elif child.type in _WORDS:
                words.append(self.word(child, depth + 1))
            else:
                writes += self._redirection(child, depth)
        for redirection in redirections:
            writes += self._redirection(redirection, depth)
        if words[:1] and words[0].text == "time" and len(words) > 1 and words[1].text in _KEYWORDS:
            self.note(_UNREAD)
        text = self.text(node.parent) if redirections and node.parent else self.text(node)
        self.commands.insert(place, SimpleCommand(tuple(words), tuple(assignments), tuple(writes), text))

    def _name(self, word: Word) -> None:
        if word.value is None:
            self.note(f"What it runs is only known when it runs: {short(word.text)}")
        elif word.text in _KEYWORDS:
            self.note(_UNREAD)

    def _assignment(self, node: "Node", depth: int) -> str:
        name, *others = node.children
        if not (name.type == "variable_name" and _NAME.fullmatch(self.raw(name)) and len(others) <= 2):
            self.note(_UNREAD)
        for value in others[1:]:
            if value.type in _WORDS:
                self.word(value, depth + 1)
            else:
                self._statements(value, depth + 1)
        return self.text(node)

    def _redirected(self, node: "Node", depth: int) -> None:
        body, *others = node.children
        if not all(self._blank(one.end_byte, two.start_byte) for one, two in pairwise(node.children)):
            self.note(_UNREAD)
        if body.type == "command":
            self._command(body, depth + 1, others)
            return
        redirections = others
        if "redirect" in body.type:
            redirections = node.children
        else:
            self.read(body, depth + 1)
        writes = [write for each in redirections for write in self._redirection(each, depth)]
        if writes or body in redirections:
            self.commands.append(SimpleCommand((), (), tuple(writes), self.text(node)))

    def _redirection(self, node: "Node", depth: int) -> list[Write]:
        """The writes among it: at most one, but a heredoc's line may have more."""
        descriptors = [child for child in node.children if child.type == "file_descriptor"]
        if descriptors and not (self.raw(descriptors[0]).isdigit() and self._at_word_start(node)):
            self.note(_UNREAD)
        children = node.children[len(descriptors) :]
        if node.type == "heredoc_redirect":
            return self._heredoc(node, depth)
        if not all(self._blank(one.end_byte, two.start_byte) for one, two in pairwise(children)):
            self.note(_UNREAD)
        understood = node.type in ("file_redirect", "herestring_redirect") and not node.has_error
        if not (understood and 1 <= len(children) <= 2 and self.text(children[0]) == children[0].type):
            self.note(_UNREAD)
            self._children(node, depth)
            return []
        operator = children[0].type
        if len(children) == 1:  # closes a descriptor
            return []
        target = self.word(children[1], depth + 1)
        if operator in _WRITING:
            duplicated = operator == ">&" and target.text.isdigit()
            return [] if duplicated or target.value == "/dev/null" else [Write(operator, target)]
        if operator == "<" and (target.value or "/dev/").startswith("/dev/") and target.value != "/dev/null":
            self.note(f"It reads from {short(target.text)}, which may be a connection.")
        return []

    def _heredoc(self, node: "Node", depth: int) -> list[Write]:
        if not self._ends_where_bash_says({child.type: child for child in node.children}):
            self.note(_UNREAD)
        writes: list[Write] = []
        for child in node.children:
            if child.type in ("file_redirect", "herestring_redirect"):
                writes += self._redirection(child, depth)
            elif child.type == "heredoc_body":
                for part in child.children:
                    if part.type in _WORDS:
                        self.word(part, depth + 1)
            elif child.type not in ("heredoc_start", "heredoc_end") and child.is_named:
                if child.type in _WORDS or child.type == "heredoc_redirect":
                    self.note(_UNREAD)
                self.read(child, depth + 1)
        return writes

    def _ends_where_bash_says(self, parts: dict[str, "Node"]) -> bool:
        """All lines of a heredoc up to its end are text, all behind it are commands: where that is must be certain."""
        start, stop = parts.get("heredoc_start"), parts.get("heredoc_end")
        operator = "<<-" if "<<-" in parts else "<<"
        name = _HEREDOC_NAME.fullmatch(self.raw(start)) if start else None
        if not (start and stop and name and operator in parts and self.text(parts[operator]) == operator):
            return False
        rest, newline, text = self.source[start.end_byte :].partition(b"\n")
        if not newline or b"<<" in rest or not _REST_OF_LINE.fullmatch(rest):
            return False
        indent = rb"\t*" if operator == "<<-" else b""
        end = re.search(rb"^" + indent + name[2] + rb"$", text, re.M)
        if end is None or start.end_byte + len(rest) + 1 + end.end() != stop.end_byte:
            return False
        if not name[1] and (_CONTINUED in text[: end.start()] or re.search(rb"`|\$[({\[]", text[: end.start()])):
            self.note("Its heredoc has text that is made by commands.")
        return True

    def _for(self, node: "Node", depth: int) -> None:
        if not all(self._blank(one.end_byte, two.start_byte, b" \t\n") for one, two in pairwise(node.children)):
            self.note(_UNREAD)
        for child in node.children:
            if child.type == "variable_name":
                if not _LOOP_VARIABLE.fullmatch(self.raw(child)):
                    self.note(f"Its loop sets the variable {short(self.text(child))}.")
            elif child.is_named:
                self.read(child, depth + 1)
            elif not self._is_token(child):
                self.note(_UNREAD)

    def _is_token(self, node: "Node") -> bool:
        """A newline has no text of its own where the file ends."""
        return node.type in _TOKENS and self.text(node).strip() == node.type.strip()

    def _comment(self, node: "Node") -> None:
        if not self._at_word_start(node) or b"\n" in self.raw(node):
            self.note(_UNREAD)

    def _at_word_start(self, node: "Node") -> bool:
        before = self.source[max(0, node.start_byte - 2) : node.start_byte]
        return not before or (before[-1:] in b" \t\n;&|()" and before[:1] != b"\\")

    def _blank(self, start: int, end: int, allowed: bytes = b" \t") -> bool:
        """Whether there is nothing but white space; a line that goes on counts as nothing."""
        return not self.source[start:end].replace(_CONTINUED, b"").strip(allowed)


def short(text: str) -> str:
    """A text for a sentence: on one line, nothing hidden, not long."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= 80 else f"{line[:79]}…"
