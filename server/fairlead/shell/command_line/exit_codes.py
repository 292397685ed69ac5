"""Which commands decide the exit code of a line, so that exit code 0 means that they all ran and succeeded.

A line is followed as bash runs it, with the rules of `set -e` (`man bash`, SHELL BUILTIN COMMANDS, set). Loops, `if`
and `case` decide nothing.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 50  # of nested nodes; a line with deeper ones decides nothing
_PREFIXES = {"command", "builtin", "time"}  # run the builtin or program in their arguments
_SOURCED = {"activate", "env", "nvm.sh", ".env"}  # files that only set variables and functions of their own
# can replace later commands, the options of the shell or its exit code, or need a grammar that was not applied
_REDEFINING = {
    "trap", "alias", "exec", "eval", "shopt", "enable", "hash", "mapfile", "readarray", "coproc", "function", "{", "}",
    "!", "if", "then", "elif", "else", "fi", "while", "until", "for", "select", "do", "done", "case", "esac", "in",
    "[[", "]]",
}  # fmt: skip
_LISTS = {"&&", "||"}
_LEAVING = {"exit", "return", "break", "continue", "logout"}
_OPTIONS = {"errexit", "pipefail", "nounset", "xtrace", "verbose", "noglob", "noclobber", "errtrace", "allexport"}
_LETTERS = "euxvfCEaB"
_HEREDOC = {"<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor", "file_redirect"}
_QUOTES = str.maketrans("", "", "\\\n'\"")
_PATH_OF_PROGRAM = re.compile(r"(\$\{?\w+\}?|[\w.~-]+)?(/[\w.*~+-]+)+")  # with a slash it cannot name a builtin
_DYNAMIC = re.compile(r"[$`*?\[{]")


Claims = frozenset[int] | None
"""The ids of commands that certainly succeeded, if a certain point is reached. None if it is never reached."""


def _either(one: Claims, other: Claims) -> Claims:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _both(one: Claims, other: Claims) -> Claims:
    return None if one is None or other is None else one | other


@dataclass(frozen=True, slots=True)
class _State:
    """What is certain between two commands."""

    zero: Claims
    """If the last command succeeded."""
    nonzero: Claims
    """If the last command failed."""
    errexit: bool = False
    """Whether `set -e` certainly applies."""
    pipefail: bool = True

    @property
    def claims(self) -> Claims:
        return _either(self.zero, self.nonzero)

    def then(self, zero: Claims, nonzero: Claims) -> "_State":
        return replace(self, zero=zero, nonzero=nonzero)

    def with_options(self, one: "_State", other: "_State") -> "_State":
        """With the options that are certain after either of two states."""
        return replace(self, errexit=one.errexit and other.errexit, pipefail=one.pipefail and other.pipefail)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pipeline with its redirections."""

    node: "Node"
    redirections: tuple["Node", ...] = ()


_Item = _Part | str
"""A part of a pipeline, or an operator: `!`, `|`, `&&` or the like."""


class _NotFollowedError(Exception):
    """The line contains something with which any command can have any effect."""


def deciding_commands(root: "Node", source: bytes) -> frozenset[int]:
    """The ids of the `command` nodes that have all succeeded if the line exits with 0, if `pipefail` is set.

    Empty if the line contains functions, traps or the like, with which any command can have any effect.
    """
    try:
        _check(root, source)
        follower = _Follower(source)
        return _either(follower.sequence(root.children, _State(frozenset(), None)).zero, follower.exits) or frozenset()
    except _NotFollowedError:
        return frozenset()


def _check(root: "Node", source: bytes) -> None:
    """Raises _NotFollowedError if a command may redefine others."""
    for node in _descendants(root):
        if node.type == "function_definition":
            raise _NotFollowedError
        if node.type == "command":
            name, *arguments = _words(node, source) or [""]
            is_dynamic = _DYNAMIC.search(name) and not _PATH_OF_PROGRAM.fullmatch(name)
            names = {name, *arguments} if name in _PREFIXES else {name}
            if is_dynamic or names & _REDEFINING:
                raise _NotFollowedError
            if _without_prefixes([name, *arguments])[:1] in (["source"], ["."]) and (
                not arguments or arguments[-1].rpartition("/")[2] not in _SOURCED
            ):
                raise _NotFollowedError


def _descendants(node: "Node", depth: int = 0) -> Iterator["Node"]:
    if depth > MAX_DEPTH:
        raise _NotFollowedError
    yield node
    for child in node.named_children:
        yield from _descendants(child, depth + 1)


def _words(command: "Node", source: bytes) -> list[str]:
    """The words without quotes, without the assignments before them, and without redirections."""
    parts = [
        part for part in command.named_children if part.type != "variable_assignment" and "redirect" not in part.type
    ]
    return [source[part.start_byte : part.end_byte].decode("utf-8", "replace").translate(_QUOTES) for part in parts]


def _flatten(node: "Node") -> list[_Item]:
    """The parts of a statement and its operators, because the grammar groups some of them in another way than bash.

    For `a && b > f | c` and `! a | b`, the outermost node is a pipeline.
    """
    children = node.children
    match node.type:
        case "list":
            return [*_flatten(children[0]), children[1].type, *_flatten(children[-1])]
        case "pipeline":
            return [item for child in children for item in (_flatten(child) if child.is_named else [child.type])]
        case "negated_command":
            return ["!", *_flatten(children[-1])]
        case "redirected_statement" if "redirect" not in children[0].type:
            *items, last = _flatten(children[0])
            assert isinstance(last, _Part)
            return [*items, replace(last, redirections=(*last.redirections, *children[1:]))]
        case _:
            return [_Part(node)]


def _split(items: Sequence[_Item], operators: Collection[str]) -> list[list[_Item]]:
    """The items between operators."""
    found: list[list[_Item]] = [[]]
    for item in items:
        if item in operators:
            found.append([])
        else:
            found[-1].append(item)
    return found


def _only(items: Sequence[_Item]) -> _Part:
    """The only item. Raises _NotFollowedError if there are others, or if it is an operator."""
    if len(items) == 1 and isinstance(items[0], _Part):
        return items[0]
    raise _NotFollowedError


def _is_plain(redirection: "Node") -> bool:
    """Whether it is only a redirection. To a heredoc, the grammar adds the rest of its line."""
    return redirection.type != "heredoc_redirect" or {part.type for part in redirection.children} <= _HEREDOC


def _without_prefixes(words: list[str]) -> list[str]:
    if words[:1] and words[0] in _PREFIXES:
        return list(dropwhile(lambda word: word in _PREFIXES or word[:1] == "-", words))
    return words


class _Follower:
    """Follows the commands of one shell. `exits` is what is certain if it exits early with 0."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.exits: Claims = None

    def sequence(self, children: Sequence["Node"], state: _State, *, ignored: bool = False) -> _State:
        """Follow statements. `ignored`: `set -e` has no effect here."""
        for child, following in zip_longest(children, children[1:]):
            if child.is_named and child.type not in ("comment", "heredoc_body"):
                if following is not None and following.type == "&":
                    state = state.then(state.claims, state.claims)
                else:
                    state = self._statement(child, state, ignored=ignored)
        return state

    def _statement(self, node: "Node", state: _State, *, ignored: bool) -> _State:
        """Follow pipelines joined by && and ||. `set -e` does not apply to those before the last one."""
        items = _flatten(node)
        operators = [item for item in items if item in _LISTS]
        first, *others = _split(items, _LISTS)
        left = self._pipeline(first, state, ignored=ignored or bool(others))
        for at, (operator, pipeline) in enumerate(zip(operators, others, strict=True), 1):
            is_and = operator == "&&"
            start = left.then(left.zero, None) if is_and else left.then(None, left.nonzero)
            right = self._pipeline(pipeline, start, ignored=ignored or at < len(others))
            zero = right.zero if is_and else _either(left.zero, right.zero)
            nonzero = _either(left.nonzero, right.nonzero) if is_and else right.nonzero
            left = right.then(zero, nonzero).with_options(left, right)
        return left

    def _pipeline(self, items: "Sequence[_Item]", state: _State, *, ignored: bool) -> _State:
        commands = [*dropwhile(lambda item: item == "!", items)]
        is_negated = (len(items) - len(commands)) % 2 == 1
        ignored = ignored or len(items) > len(commands)
        if len(commands) == 1:
            state = self._part(_only(commands), state, ignored=ignored)
        else:
            parts = [self._in_subshell(_only(part), state, ignored=ignored) for part in _split(commands, {"|", "|&"})]
            zero = parts[-1]
            for part in parts if state.pipefail else []:
                zero = _both(zero, part)
            state = _finished(state, zero, ignored=ignored)
        return state.then(state.nonzero, state.zero) if is_negated else state

    def _part(self, part: "_Part", state: _State, *, ignored: bool) -> _State:
        """Follow a command or a compound command. If one of its redirections fails, it does not run."""
        node = part.node
        redirections = [*part.redirections, *(child for child in node.children if "redirect" in child.type)]
        if not all(map(_is_plain, redirections)):
            raise _NotFollowedError
        if node.type == "command":
            after = self._command(node, state, is_redirected=bool(redirections), ignored=ignored)
        elif node.type == "compound_statement" and node.children[0].type == "{":
            after = self.sequence(node.children, state, ignored=ignored)
        elif node.type == "subshell":
            inner = _Follower(self._source)
            final = inner.sequence(node.children, state, ignored=ignored)
            after = _finished(state, _either(final.zero, inner.exits), ignored=ignored)
        else:
            after = self._unknown(node, state)
        if not redirections or (node.type == "command" and state.errexit and not ignored):
            return after
        return after.then(after.zero, _either(after.nonzero, state.claims)).with_options(after, state)

    def _in_subshell(self, part: "_Part", state: _State, *, ignored: bool) -> Claims:
        inner = _Follower(self._source)
        return _either(inner._part(part, state, ignored=ignored).zero, inner.exits)

    def _command(self, node: "Node", state: _State, *, is_redirected: bool, ignored: bool) -> _State:
        name, *arguments = _without_prefixes(_words(node, self._source)) or [""]
        if name in _LEAVING:
            return self._leave(name, arguments, state)
        if name == "set":
            return _set(arguments, state)
        if name == "false" and not is_redirected:
            return _finished(state, None, ignored=ignored)
        return _finished(state, _both(state.claims, frozenset({node.id})), ignored=ignored)

    def _leave(self, name: str, arguments: Sequence[str], state: _State) -> _State:
        code = arguments[0] if len(arguments) == 1 else ""
        if name == "exit" and re.fullmatch(r"\d{1,9}", code):
            self.exits = self.exits if int(code) % 256 else _either(self.exits, state.claims)
            return state.then(None, None)
        if name == "exit" and (not arguments or code == "$?"):
            self.exits = _either(self.exits, state.zero)
            return state.then(None, None)
        self.exits = _either(self.exits, state.claims)
        return state.then(state.claims, state.claims)

    def _unknown(self, node: "Node", state: _State) -> _State:
        """A statement whose commands decide nothing, and of which any may run or not."""
        names = {
            word for each in _descendants(node) if each.type == "command" for word in _words(each, self._source)[:3]
        }
        if names & _LEAVING:
            self.exits = _either(self.exits, state.claims)
        keeps = "set" not in names
        return _State(state.claims, state.claims, errexit=state.errexit and keeps, pipefail=state.pipefail and keeps)


def _finished(state: _State, zero: Claims, *, ignored: bool) -> _State:
    """The state after a command, a pipeline or a subshell, whose failure ends the shell after `set -e`."""
    return state.then(zero, None if state.errexit and not ignored else state.claims)


def _set(arguments: Sequence[str], state: _State) -> _State:
    """The state after `set`. Raises _NotFollowedError for options with an unknown effect, such as `-n`."""
    changed: dict[str, bool] = {}
    rest = iter(arguments)
    for word in rest:
        if word[:1] not in ("-", "+") and not _DYNAMIC.search(word):
            break
        if word in ("-", "--"):
            break
        on, letters = word[0] == "-", word[1:].replace("o", "")
        names = [next(rest, "") for _ in range(word.count("o"))]
        if word[:1] not in ("-", "+") or not set(letters) <= set(_LETTERS) or not set(names) <= _OPTIONS:
            raise _NotFollowedError
        changed |= dict.fromkeys(names, on) | ({"errexit": on} if "e" in letters else {})
    state = state.then(state.claims, None)
    return replace(
        state, errexit=changed.get("errexit", state.errexit), pipefail=changed.get("pipefail", state.pipefail)
    )
