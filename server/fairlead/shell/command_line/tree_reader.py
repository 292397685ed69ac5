"""Reads the simple commands out of a syntax tree, and reports everything that it does not understand for certain.

tree-sitter's grammar reads some texts differently from bash. So only the node types listed here count as understood,
only whitespace may separate nodes, and quotes and heredocs are checked again.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from fairlead.display import shorten
from fairlead.sentences import Sentence
from fairlead.shell.command_line.exit_codes import deciding_commands
from fairlead.shell.command_line.simple_commands import Parsed, Scope, SimpleCommand, Write
from fairlead.shell.command_line.words import Piece, Word, join_pieces, literal, quoted, unquoted

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 60  # of nested nodes

_STATEMENTS = {
    "program", "list", "pipeline", "negated_command", "subshell", "compound_statement", "if_statement", "elif_clause",
    "else_clause", "while_statement", "do_group",
}  # fmt: skip
# nodes whose statements run in the shell around the node; a `cd` in any other node may have no effect after the node
_SAME_SHELL = {"program", "list", "compound_statement", "negated_command"}
_SUBSHELLS = {"subshell", "command_substitution", "process_substitution"}
_TOKENS = {
    ";", "&", "&&", "||", "|", "|&", "!", "(", ")", "{", "}", "\n", "if", "then", "elif", "else", "fi", "while",
    "until", "do", "done", "for", "in", "$(", "`", "<(", ">(",
}  # fmt: skip
_UNCLEAR = {
    "test_command": Sentence("It contains a test or a calculation, which can run other commands ([ ], [[ ]], (( )))."),
    "arithmetic_expansion": Sentence("It contains a calculation, which can run other commands ($(( )))."),
    "expansion": Sentence("It contains an expansion that does more than name a variable (${...})."),
    "function_definition": Sentence("It defines a function."),
    "case_statement": Sentence("It contains a case statement, which is not checked."),
    "c_style_for_statement": Sentence("It contains a counting loop, which is not checked."),
    "declaration_command": Sentence("It sets variables that later commands see."),
    "unset_command": Sentence("It removes variables or functions that later commands see."),
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
_NOT_PARSED = Sentence("It could not be parsed completely.")
_VARIABLE_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_LOOP_VARIABLE = re.compile(rb"[a-z]+[0-9]*")
_HEREDOC_NAME = re.compile(rb"([\"']?)(\w+)\1")
_LONE_TOKEN = re.compile(rb"[!{](?:\\\n)*[ \t\n]")  # in `!]` and `{}`, `!` and `{` are parts of a word
_REST_OF_LINE = re.compile(rb"(?:[^'\"\\`$]|\"[^\"\\`$]*\"|'[^']*')*")
_CONTINUED = b"\\\n"
# an expansion that only names a variable
_PLAIN_EXPANSION = re.compile(r"\$(?:[A-Za-z_]\w*|\d|[@*#?!$-]|\{[A-Za-z_]\w*\})", re.ASCII)


def read_tree(root: "Node", source: bytes) -> Parsed:
    """Reads a whole syntax tree, even where the grammar found errors.

    `source` is the original text; its bytes are at the same offsets as in the text that was parsed.
    """
    reader = _Reader(source, () if root.has_error else deciding_commands(root, source))
    reader.read(root, 0)
    if root.has_error:
        reader.note(_NOT_PARSED)
    commands = reader.commands
    if _NOT_PARSED in reader.unclear:  # the tree may differ from what bash runs
        commands = [replace(command, decides=False) for command in commands]
    if len(reader.unclear) > 1:
        reader.unclear.pop(_NOT_PARSED, None)  # the other sentences are more specific
    return Parsed(tuple(commands), tuple(reader.unclear))


@dataclass
class _Reader:
    """Walks the tree once. Continues after what it does not understand, because deny rules must see every command.

    It reads no nodes that are nested deeper than MAX_DEPTH.
    """

    source: bytes
    deciding: Collection[int] = ()  # the ids of nodes (`deciding_commands`)
    commands: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    unclear: dict[str, None] = field(default_factory=dict[str, None])  # an ordered set
    scopes: tuple[Scope, ...] = ()

    def read(self, node: "Node", depth: int) -> None:
        kind = node.type
        if depth > MAX_DEPTH:
            self.note(Sentence("It is nested too deeply to be checked."))
        elif kind == "command":
            self._command(node, depth)
        elif kind == "redirected_statement":
            self._redirected(node, depth)
        elif kind == "variable_assignment":
            self.commands.append(SimpleCommand((), (self._assignment(node, depth),), text=self.text(node)))
        elif kind == "for_statement":
            self._for(node, depth)
        elif kind == "comment":
            self._check_comment(node)
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
        """Reads a word, and collects the commands in its substitutions."""
        parts = node.children if node.type == "concatenation" else [node]
        if any(one.end_byte != two.start_byte for one, two in pairwise(parts)):
            self.note(_NOT_PARSED)
        return join_pieces([self._piece(part, depth + 1) for part in parts], self.text(node))

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
                self.note(_NOT_PARSED)
            return piece or Piece(None)
        if kind != "ansi_c_string" and not _PLAIN_EXPANSION.fullmatch(text):
            self._statements(node, depth)
        return Piece(None, splits=kind != "ansi_c_string")

    def _string(self, node: "Node", depth: int) -> Piece | None:
        expansions = [child for child in node.children if child.is_named and child.type != "string_content"]
        for expansion in expansions:
            self._piece(expansion, depth)
        starts = [node.start_byte + 1, *(expansion.end_byte for expansion in expansions)]
        ends = [*(expansion.start_byte for expansion in expansions), node.end_byte - 1]
        chunks = [self.source[start:end].decode("utf-8", "replace") for start, end in zip(starts, ends, strict=True)]
        return quoted(chunks, splits=any(b"@" in self.raw(expansion) for expansion in expansions))

    def _substitution(self, node: "Node", depth: int) -> None:
        raw = self.raw(node)
        # bash unescapes the text between the backticks before it parses this text
        if raw.startswith(b"`") and (raw.count(b"`") != 2 or b"\\" in raw):
            self.note(_NOT_PARSED)
        self._children(node, depth)

    def _statements(self, node: "Node", depth: int) -> None:
        was_parsed = _NOT_PARSED not in self.unclear
        if node.type not in _STATEMENTS:
            self.note(_UNCLEAR.get(node.type, _NOT_PARSED))
        self._children(node, depth)
        if was_parsed and node.type in _UNCLEAR:  # the sentence about the node also covers its children
            self.unclear.pop(_NOT_PARSED, None)

    def _children(self, node: "Node", depth: int) -> None:
        """Reads the statements of a node and checks what is between them."""
        before: Node | None = None
        # the depth tells whether the node is the root; `node.parent` would search the tree from its root
        is_root = depth == 0
        end = 0 if is_root else node.start_byte
        if node.type in ("negated_command", "compound_statement") and not _LONE_TOKEN.match(self.source, end):
            self.note(_NOT_PARSED)
        for child, following in zip_longest(node.children, node.children[1:]):
            gap = self.source[end : child.start_byte].replace(_CONTINUED, b"")
            if gap.strip(b" \t\n") or not (child.is_named or self._is_token(child)):
                self.note(_UNCLEAR.get(node.type, _NOT_PARSED))
            is_separated = b"\n" in gap or child.type == "comment" or (before and before.type == "elif_clause")
            if before and before.is_named and child.is_named and not is_separated:
                self.note(_NOT_PARSED)
            if child.is_named:
                outer = self.scopes
                in_background = following is not None and following.type == "&"
                operator = before.type if node.type == "list" and before is not None else ""
                if node.type in _SUBSHELLS:
                    self.scopes = (*outer, Scope(node.start_byte, is_subshell=True))
                elif operator == "&&":
                    self.scopes = (*outer, Scope(_start_of_chain(node), is_subshell=False))
                elif node.type not in _SAME_SHELL or in_background or operator == "||":
                    self.scopes = (*outer, Scope(child.start_byte, is_subshell=False))
                self.read(child, depth + 1)
                self.scopes = outer
            before, end = child, child.end_byte
        if not self._blank(end, len(self.source) if is_root else node.end_byte, b" \t\n"):
            self.note(_NOT_PARSED)

    def _command(self, node: "Node", depth: int, redirections: "Sequence[Node]" = ()) -> None:
        words: list[Word] = []
        assignments: list[str] = []
        writes: list[Write] = []
        index = len(self.commands)
        end = node.start_byte
        for child in node.children:
            gap = self.source[end : child.start_byte].replace(_CONTINUED, b"")
            if gap.strip(b" \t") or not (gap or child is node.children[0]):
                self.note(_NOT_PARSED)
            end = child.end_byte
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child, depth))
            elif child.type == "command_name" and child.child_count == 1:
                words.append(self.word(child.children[0], depth + 1))
                self._check_program_name(words[0])
            elif child.type in _WORDS:
                words.append(self.word(child, depth + 1))
            else:
                writes += self._redirection(child, depth)
        for redirection in redirections:
            writes += self._redirection(redirection, depth)
        if words[:1] and words[0].text == "time" and len(words) > 1 and words[1].text in _KEYWORDS:
            self.note(_NOT_PARSED)
        text = self.text(node.parent) if redirections and node.parent else self.text(node)
        decides = node.id in self.deciding
        command = SimpleCommand(tuple(words), tuple(assignments), tuple(writes), text, decides, self.scopes)
        self.commands.insert(index, command)

    def _check_program_name(self, word: Word) -> None:
        if word.value is None:
            self.note(Sentence("The program's name is not known before it runs: {0}", shorten(word.text)))
        elif word.text in _KEYWORDS:
            self.note(_NOT_PARSED)

    def _assignment(self, node: "Node", depth: int) -> str:
        name, *others = node.children
        if not (name.type == "variable_name" and _VARIABLE_NAME.fullmatch(self.raw(name)) and len(others) <= 2):
            self.note(_NOT_PARSED)
        for value in others[1:]:
            if value.type in _WORDS:
                self.word(value, depth + 1)
            else:
                self._statements(value, depth + 1)
        return self.text(node)

    def _redirected(self, node: "Node", depth: int) -> None:
        body, *others = node.children
        self._check_gaps(node.children)
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
        """The writes of a redirection. A heredoc may have several, because its node may contain other redirections."""
        descriptors = [child for child in node.children if child.type == "file_descriptor"]
        if descriptors and not (self.raw(descriptors[0]).isdigit() and self._at_word_start(node)):
            self.note(_NOT_PARSED)
        children = node.children[len(descriptors) :]
        if node.type == "heredoc_redirect":
            return self._heredoc(node, depth)
        self._check_gaps(children)
        understood = node.type in ("file_redirect", "herestring_redirect") and not node.has_error
        if not (understood and 1 <= len(children) <= 2 and self.text(children[0]) == children[0].type):
            self.note(_NOT_PARSED)
            self._children(node, depth)
            return []
        operator = children[0].type
        if len(children) == 1:  # it closes a descriptor
            return []
        target = self.word(children[1], depth + 1)
        if operator in _WRITING:
            duplicated = operator == ">&" and target.text.isascii() and target.text.isdigit()
            return [] if duplicated or target.value == "/dev/null" else [Write(operator, target)]
        if operator == "<" and (target.value or "/dev/").startswith("/dev/") and target.value != "/dev/null":
            self.note(Sentence("It reads from {0}, which may be a network connection.", shorten(target.text)))
        return []

    def _heredoc(self, node: "Node", depth: int) -> list[Write]:
        if not self._has_certain_end({child.type: child for child in node.children}):
            self.note(_NOT_PARSED)
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
                    self.note(_NOT_PARSED)
                self.read(child, depth + 1)
        return writes

    def _has_certain_end(self, parts: dict[str, "Node"]) -> bool:
        """Whether it is certain that bash ends the heredoc where the grammar does.

        If they end it at different places, one of them reads text as commands. If the end is certain, also notes that
        the heredoc is unclear if its text may come from commands.
        """
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
            self.note(Sentence("It contains a heredoc whose text comes from commands."))
        return True

    def _for(self, node: "Node", depth: int) -> None:
        self._check_gaps(node.children, b" \t\n")
        for child in node.children:
            if child.type == "variable_name":
                if not _LOOP_VARIABLE.fullmatch(self.raw(child)):
                    self.note(Sentence("It contains a loop that sets the variable {0}.", shorten(self.text(child))))
            elif child.is_named:
                self.read(child, depth + 1)
            elif not self._is_token(child):
                self.note(_NOT_PARSED)

    def _is_token(self, node: "Node") -> bool:
        """Whether the node is a known token. A newline token at the end of the file has no text."""
        return node.type in _TOKENS and self.text(node).strip() == node.type.strip()

    def _check_comment(self, node: "Node") -> None:
        if not self._at_word_start(node) or b"\n" in self.raw(node):
            self.note(_NOT_PARSED)

    def _at_word_start(self, node: "Node") -> bool:
        before = self.source[max(0, node.start_byte - 2) : node.start_byte]
        return not before or (before[-1:] in b" \t\n;&|()" and before[:1] != b"\\")

    def _check_gaps(self, nodes: "Sequence[Node]", allowed: bytes = b" \t") -> None:
        """Notes that parsing is incomplete if there is anything except whitespace between the nodes."""
        if not all(self._blank(one.end_byte, two.start_byte, allowed) for one, two in pairwise(nodes)):
            self.note(_NOT_PARSED)

    def _blank(self, start: int, end: int, allowed: bytes) -> bool:
        """Whether a range contains only `allowed` whitespace and the ends of continued lines."""
        return not self.source[start:end].replace(_CONTINUED, b"").strip(allowed)


def _start_of_chain(node: "Node") -> int:
    """The offset of the first `&&` in a chain of them, whose last part is the list `node`.

    All commands after it share a scope: each runs only if those before it succeeded, so their `cd`s took effect.
    """
    start = node.start_byte
    while node.type == "list" and node.child_count > 1 and node.children[1].type == "&&":
        start, node = node.children[1].start_byte, node.children[0]
    return start
