"""Finds the commands that must have run and succeeded if a line exits with 0.

Follows a line as bash runs it, with the rules of `set -e` (`man bash`, SHELL BUILTIN COMMANDS, set). Commands in loops,
`if` and `case` never count.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 50  # of nested nodes; in a line with deeper ones, no command counts
_PREFIXES = {"command", "builtin", "time"}  # run the builtin or program in their arguments
# the names of files that are trusted to define only variables, and functions that do not replace other commands
_SOURCED = {"activate", "env", "nvm.sh", ".env"}
# These can replace later commands, or change the shell's options or its exit code. A keyword as the name of a
# command means that the grammar has read the line differently from bash.
_REDEFINING = {
    "trap", "alias", "exec", "eval", "shopt", "enable", "hash", "mapfile", "readarray", "coproc", "function", "{", "}",
    "!", "if", "then", "elif", "else", "fi", "while", "until", "for", "select", "do", "done", "case", "esac", "in",
    "[[", "]]",
}  # fmt: skip
_LIST_OPERATORS = {"&&", "||"}
_LEAVING = {"exit", "return", "break", "continue", "logout"}
_SET_OPTIONS = {"errexit", "pipefail", "nounset", "xtrace", "verbose", "noglob", "noclobber", "errtrace", "allexport"}
_SET_LETTERS = "euxvfCEaB"
_HEREDOC_NODES = {"<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor", "file_redirect"}
_QUOTES = str.maketrans("", "", "\\\n'\"")
_PATH_OF_PROGRAM = re.compile(r"(\$\{?\w+\}?|[\w.~-]+)?(/[\w.*~+-]+)+")  # with a slash it cannot name a builtin
_DYNAMIC = re.compile(r"[$`*?\[{]")


Succeeded = frozenset[int] | None
"""The ids of the commands that must have succeeded if bash reaches a point of the line.

None: bash cannot reach this point.
"""


def _either(one: Succeeded, other: Succeeded) -> Succeeded:
    """The commands that must have succeeded at a point that bash reaches in one of two ways."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _both(one: Succeeded, other: Succeeded) -> Succeeded:
    """The commands that must have succeeded at a point that bash reaches only if it reaches two other points."""
    return None if one is None or other is None else one | other


@dataclass(frozen=True, slots=True)
class _State:
    """What is known at a point between two commands."""

    zero: Succeeded
    """The commands that must have succeeded if the last command exited with 0."""
    nonzero: Succeeded
    """The commands that must have succeeded if the last command exited with another code."""
    errexit: bool = False
    """Whether `set -e` is set for certain."""
    pipefail: bool = True
    """Whether `set -o pipefail` is set for certain."""

    @property
    def succeeded(self) -> Succeeded:
        """The commands that must have succeeded, whatever the last exit code is."""
        return _either(self.zero, self.nonzero)

    def then(self, zero: Succeeded, nonzero: Succeeded) -> "_State":
        """The state at the next point, with the same options."""
        return replace(self, zero=zero, nonzero=nonzero)

    def with_options(self, one: "_State", other: "_State") -> "_State":
        """This state with the options that are set in both of two states."""
        return replace(self, errexit=one.errexit and other.errexit, pipefail=one.pipefail and other.pipefail)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pipeline with its redirections."""

    node: "Node"
    redirections: tuple["Node", ...] = ()


_Item = _Part | str
"""A part of a pipeline, or an operator: `!`, `|`, `&&` or the like."""


class _NotFollowedError(Exception):
    """The line contains something that makes the effect of every command unknown."""


def deciding_commands(root: "Node", source: bytes) -> frozenset[int]:
    """The ids of the `command` nodes that must have succeeded if the line exits with 0. Assumes that `pipefail` is set.

    Empty if the line contains functions, traps or the like, which make the effect of every command unknown.
    """
    try:
        _check_names(root, source)
        follower = _Follower(source)
        return _either(follower.sequence(root.children, _State(frozenset(), None)).zero, follower.exits) or frozenset()
    except _NotFollowedError:
        return frozenset()


def _check_names(root: "Node", source: bytes) -> None:
    """Raises _NotFollowedError if the line may change what its other commands do.

    That is so if it defines a function, or has a command in `_REDEFINING`, one whose name bash must first expand, or
    one that sources a file not in `_SOURCED`.
    """
    for node in _descendants(root):
        if node.type == "function_definition":
            raise _NotFollowedError
        if node.type == "command":
            name, *arguments = _words(node, source) or [""]
            is_dynamic = _DYNAMIC.search(name) and not _PATH_OF_PROGRAM.fullmatch(name)
            names = {name, *arguments} if name in _PREFIXES else {name}
            if is_dynamic or names & _REDEFINING:
                raise _NotFollowedError
            program, *given = _without_prefixes([name, *arguments]) or [""]
            if program in ("source", ".") and (not given or given[0].rpartition("/")[2] not in _SOURCED):
                raise _NotFollowedError


def _descendants(node: "Node", depth: int = 0) -> Iterator["Node"]:
    """The node and all named nodes below it. Raises _NotFollowedError if they are nested deeper than MAX_DEPTH."""
    if depth > MAX_DEPTH:
        raise _NotFollowedError
    yield node
    for child in node.named_children:
        yield from _descendants(child, depth + 1)


def _words(command: "Node", source: bytes) -> list[str]:
    """The words of a command without quotes and backslashes. Omits assignments and redirections."""
    parts = [
        part for part in command.named_children if part.type != "variable_assignment" and "redirect" not in part.type
    ]
    return [source[part.start_byte : part.end_byte].decode("utf-8", "replace").translate(_QUOTES) for part in parts]


def _flatten(node: "Node") -> list[_Item]:
    """The parts and operators of a statement in their order, without the groups that the grammar makes.

    bash groups them differently. For `a && b > f | c`, the grammar makes one pipeline of everything, but in bash it
    begins at `b`. For `! a | b`, the grammar negates only `a`, but bash negates the whole pipeline.
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
    """Whether the node contains only the redirection. The node of a heredoc may contain the rest of its line."""
    return redirection.type != "heredoc_redirect" or {part.type for part in redirection.children} <= _HEREDOC_NODES


def _without_prefixes(words: list[str]) -> list[str]:
    if words[:1] and words[0] in _PREFIXES:
        return list(dropwhile(lambda word: word in _PREFIXES or word[:1] == "-", words))
    return words


class _Follower:
    """Follows the commands of one shell. `exits`: those that must have succeeded if the shell exits early with 0."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.exits: Succeeded = None

    def sequence(self, children: Sequence["Node"], state: _State, *, ignores_errexit: bool = False) -> _State:
        """Follows statements. With `ignores_errexit`, `set -e` has no effect on them."""
        for child, following in zip_longest(children, children[1:]):
            if child.is_named and child.type not in ("comment", "heredoc_body"):
                if following is not None and following.type == "&":
                    state = state.then(state.succeeded, state.succeeded)
                else:
                    state = self._statement(child, state, ignores_errexit=ignores_errexit)
        return state

    def _statement(self, node: "Node", state: _State, *, ignores_errexit: bool) -> _State:
        """Follows pipelines joined by && and ||. `set -e` affects only the last one."""
        items = _flatten(node)
        operators = [item for item in items if item in _LIST_OPERATORS]
        first, *others = _split(items, _LIST_OPERATORS)
        left = self._pipeline(first, state, ignores_errexit=ignores_errexit or bool(others))
        for at, (operator, pipeline) in enumerate(zip(operators, others, strict=True), 1):
            is_and = operator == "&&"
            start = left.then(left.zero, None) if is_and else left.then(None, left.nonzero)
            right = self._pipeline(pipeline, start, ignores_errexit=ignores_errexit or at < len(others))
            zero = right.zero if is_and else _either(left.zero, right.zero)
            nonzero = _either(left.nonzero, right.nonzero) if is_and else right.nonzero
            left = right.then(zero, nonzero).with_options(left, right)
        return left

    def _pipeline(self, items: "Sequence[_Item]", state: _State, *, ignores_errexit: bool) -> _State:
        commands = [*dropwhile(lambda item: item == "!", items)]
        is_negated = (len(items) - len(commands)) % 2 == 1
        ignores_errexit = ignores_errexit or len(items) > len(commands)
        if len(commands) == 1:
            state = self._part(_only(commands), state, ignores_errexit=ignores_errexit)
        else:
            parts = [
                self._in_subshell(_only(part), state, ignores_errexit=ignores_errexit)
                for part in _split(commands, {"|", "|&"})
            ]
            zero = parts[-1]
            for part in parts if state.pipefail else []:
                zero = _both(zero, part)
            state = _state_after(state, zero, ignores_errexit=ignores_errexit)
        return state.then(state.nonzero, state.zero) if is_negated else state

    def _part(self, part: "_Part", state: _State, *, ignores_errexit: bool) -> _State:
        """Follows a command or a compound command. If one of its redirections fails, it does not run."""
        node = part.node
        redirections = [*part.redirections, *(child for child in node.children if "redirect" in child.type)]
        if not all(map(_is_plain, redirections)):
            raise _NotFollowedError
        if node.type == "command":
            after = self._command(node, state, is_redirected=bool(redirections), ignores_errexit=ignores_errexit)
        elif node.type == "compound_statement" and node.children[0].type == "{":
            after = self.sequence(node.children, state, ignores_errexit=ignores_errexit)
        elif node.type == "subshell":
            inner = _Follower(self._source)
            final = inner.sequence(node.children, state, ignores_errexit=ignores_errexit)
            after = _state_after(state, _either(final.zero, inner.exits), ignores_errexit=ignores_errexit)
        else:
            after = self._not_followed(node, state)
        if not redirections or (node.type == "command" and state.errexit and not ignores_errexit):
            return after
        return after.then(after.zero, _either(after.nonzero, state.succeeded)).with_options(after, state)

    def _in_subshell(self, part: "_Part", state: _State, *, ignores_errexit: bool) -> Succeeded:
        inner = _Follower(self._source)
        return _either(inner._part(part, state, ignores_errexit=ignores_errexit).zero, inner.exits)

    def _command(self, node: "Node", state: _State, *, is_redirected: bool, ignores_errexit: bool) -> _State:
        name, *arguments = _without_prefixes(_words(node, self._source)) or [""]
        if name in _LEAVING:
            return self._leave(name, arguments, state)
        if name == "set":
            return _set(arguments, state)
        if name == "false" and not is_redirected:
            return _state_after(state, None, ignores_errexit=ignores_errexit)
        return _state_after(state, _both(state.succeeded, frozenset({node.id})), ignores_errexit=ignores_errexit)

    def _leave(self, name: str, arguments: Sequence[str], state: _State) -> _State:
        code = arguments[0] if len(arguments) == 1 else ""
        if name == "exit" and re.fullmatch(r"\d{1,9}", code):
            self.exits = self.exits if int(code) % 256 else _either(self.exits, state.succeeded)
            return state.then(None, None)
        if name == "exit" and (not arguments or code == "$?"):
            self.exits = _either(self.exits, state.zero)
            return state.then(None, None)
        self.exits = _either(self.exits, state.succeeded)
        return state.then(state.succeeded, state.succeeded)

    def _not_followed(self, node: "Node", state: _State) -> _State:
        """The state after a statement that is not followed: each of its commands may have run or not."""
        names = {
            word for each in _descendants(node) if each.type == "command" for word in _words(each, self._source)[:3]
        }
        if names & _LEAVING:
            self.exits = _either(self.exits, state.succeeded)
        keeps_options = "set" not in names
        return replace(
            state.then(state.succeeded, state.succeeded),
            errexit=state.errexit and keeps_options,
            pipefail=state.pipefail and keeps_options,
        )


def _state_after(state: _State, zero: Succeeded, *, ignores_errexit: bool) -> _State:
    """The state after a command, a pipeline or a subshell. After `set -e`, its failure ends the shell.

    Args:
        zero: the commands that must have succeeded if it exited with 0.
    """
    return state.then(zero, None if state.errexit and not ignores_errexit else state.succeeded)


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
        if word[:1] not in ("-", "+") or not set(letters) <= set(_SET_LETTERS) or not set(names) <= _SET_OPTIONS:
            raise _NotFollowedError
        changed |= dict.fromkeys(names, on) | ({"errexit": on} if "e" in letters else {})
    state = state.then(state.succeeded, None)
    return replace(
        state, errexit=changed.get("errexit", state.errexit), pipefail=changed.get("pipefail", state.pipefail)
    )
