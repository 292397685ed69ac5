"""Parses commands, and compares those that count as understood with what bash runs."""

import contextlib
import gc
import os
import re
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from fairlead.shell.command_line.parse import MAX_BYTES, parse
from fairlead.shell.command_line.words import Word
from support.function_calls import function_calls

PIECES = [
    "a", "b", "cc", " ", " ", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{ ", " }", "$(", "`", '"', "'",
    "\\", "\\\n", "#", " #", "<<E", "\nE\n", "E", "<<'E'", "<<-E", "\t", "$x", "${x}", "$", '$"', "$'", ">", ">f",
    "<", "<<<", ">&2", "&>", "=", "x=", "*", "~", "{", "}", "{a,b}", "!", "! ", "if ", "then ", "fi", "while ",
    "do ", "done", "for x in ", "else ", "time ", "coproc ", "case ", "esac", "[[ ", " ]]", "((", "))", "<(", "|&",
    ";;", "[", "]", "-", "\\ ", "-2>", "function ", "select ", '\\"', "é", '"$(', ')"', "$@", "a=b ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def words(command: str) -> list[list[str | None]]:
    """The words of each simple command; None for those that only bash knows."""
    return [[word.value for word in each.words] for each in parse(command).commands]


UNDERSTOOD = {
    "a; b & c\nd": [["a"], ["b"], ["c"], ["d"]],
    "a | b |& c": [["a"], ["b"], ["c"]],
    "(a && { b || c; }) > f": [["a"], ["b"], ["c"], []],
    "a 'b c' \"d e\" f\\ g h'i'\"j\"": [["a", "b c", "d e", "f g", "hij"]],
    "\\rm x; 'r'm y": [["rm", "x"], ["rm", "y"]],
    "a $x \"$y\" ${z} *.py ~/f a{b,c} $'\\n'": [["a", *[None] * 7]],
    'a {} \\; = a=b a#b "\\$(x)"': [["a", "{}", ";", "=", "a=b", "a#b", "$(x)"]],
    'a $(b c) `d` <(e) "$(f)"': [["a", None, None, None, None], ["b", "c"], ["d"], ["e"], ["f"]],
    "a <<'E' | b\n$(c)\nE\nd": [["a"], ["b"], ["d"]],
    "if a; then b; elif c; then d; else e; fi": [["a"], ["b"], ["c"], ["d"], ["e"]],
    'while a; do b; done; for x in p q; do c "$x"; done': [["a"], ["b"], ["c", None]],
    "# nothing": [],
    "a \\\n  b # c": [["a", "b"]],
}


@pytest.mark.parametrize("command", UNDERSTOOD)
def test_what_is_understood(command: str) -> None:
    """`parse` returns every simple command, including nested ones, with its words."""
    assert (words(command), parse(command).unclear) == (UNDERSTOOD[command], ())


UNCLEAR = [
    "$x", "a `b \\`c\\``", "f() { a; }", "[[ -v a ]]", "((a=1))", "${x:=a}", "${!x}", "a <<E\n$(b)\nE", "a <<E\nx",
    "a <<E\nE\\\n\nE", "case a in b) c;; esac", "export A=1", "coproc a", "a 'b", "a \0", "a \x1b[8m", "a\u200b",
    "a\rb", "a \ud800", "select x in a; do b; done", "a < /dev/tcp/h/1", "a >&2 b", "a[$(b)]=1",
    "for PATH in a; do b; done", "a" * (MAX_BYTES + 1), "a|" * 20_000, "a=(" * 10_000, "(" * 500 + "a",
]  # fmt: skip


@pytest.mark.parametrize("command", UNCLEAR)
def test_unclear_text_is_reported(command: str) -> None:
    """Each reason is a sentence for the user, or has the affected text after a colon."""
    assert all(reason.endswith(".") or ": " in reason for reason in parse(command).unclear)
    assert parse(command).unclear


def test_commands_in_unclear_text_are_collected() -> None:
    """The commands in unclear text are returned too, so that a deny rule sees all commands."""
    for command in ("f() { a; }", "case x in y) a;; esac", "[ $(a) ]", "x <<E\n$(a)\nE", "export X=$(a)", "$(a) b"):
        assert ["a"] in words(command)


def test_writes_and_assignments_belong_to_their_command() -> None:
    """A copy of a descriptor, or a redirection to /dev/null, is not a write."""
    [command] = parse("A=1 B= a > f 2>> 'g h' 2>&1 > /dev/null < i").commands
    assert command.assignments == ("A=1", "B=")
    assert [(write.operator, write.target.value) for write in command.writes] == [(">", "f"), (">>", "g h")]


@settings(deadline=None)
@given(st.text() | TEXTS)
@example("{\U00031860")  # crashed the grammar's scanner, and the process with it
def test_no_text_is_too_odd(text: str) -> None:
    """`parse` never raises, and a word whose value is known has that value as its prefix."""
    for command in parse(text).commands:
        assert all(word.value is None or word.value == word.prefix for word in command.words)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        'git log --oneline "a b" $x | head -5; ',
        "(",
        "$(",
        '"$(',
        "`",
        '"',
        "a ",
        "a\n",
        "<<a ",
        "if ",
        "${a",
        "f() ",
        "[[ ",
    ],
)
def test_twice_as_much_text_takes_about_twice_as_many_steps(text: str) -> None:
    """20 KB of commands or of brackets cause no stack overflow either."""
    whole = text * 20_000
    twice = function_calls(lambda: parse(whole[:20_000]))
    assert twice < 2.2 * function_calls(lambda: parse(whole[:10_000])) + 1000


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for files that the commands write. The commands contain no `/`, so they reach no other folder."""
    return tmp_path_factory.mktemp("bash")


_SKIPPED = r"-p|--|[A-Za-z_]\w*\+?=.*"


def timed_by(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """The words that bash may run after each `time`: all, all but the first, or all after options and assignments."""
    rests = words[1:], words[2:], tuple(dropwhile(lambda word: re.fullmatch(_SKIPPED, word.text, re.S), words[1:]))
    for rest in rests:
        yield rest
        if rest and rest[0].text == "time":
            yield from timed_by(rest)


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("bash"), reason="compares with a real bash")
@settings(deadline=None, max_examples=300)
@given(TEXTS)
@example("time time time a")
def test_fault_36_bash_runs_only_the_parsed_commands(empty: Path, text: str) -> None:
    """docs/faults.md 36: if nothing is unclear, every command that bash runs is among the commands, word for word."""
    parsed = parse(text)
    if parsed.unclear:
        return
    timed = [words for each in parsed.commands if each.text.startswith("time") for words in timed_by(each.words)]
    known = [*(each.words for each in parsed.commands), *timed]
    for ran in runs(text, empty):
        assert any(fits(words, ran) for words in known), (text, ran)


def runs(text: str, folder: Path) -> list[list[str]]:
    """The commands that bash looks up, each with its words. None of them exists."""
    read, write = os.pipe()
    handler = f'() {{ builtin printf "%s\\0" "$#" "$@" >&{write}; }}'
    environment = {"PATH": "/nowhere", "BASH_FUNC_command_not_found_handle%%": handler}
    with open(read, "rb") as pipe:
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    [shutil.which("bash") or "", "-c", "--", text],
                    cwd=folder,
                    env=environment,
                    pass_fds=[write],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=5,
                    check=False,
                )
        finally:
            os.close(write)
        words = pipe.read().decode("utf-8", "replace").split("\0")[:-1]
    found: list[list[str]] = []
    while words:
        count = int(words[0])
        found.append(words[1 : count + 1])
        words = words[count + 1 :]
    return found


def fits(words: Sequence[Word], ran: Sequence[str]) -> bool:
    """Whether `words` can become `ran`. A word with an unknown value can become any number of words with its prefix."""
    if not words:
        return not ran
    if words[0].value is not None:
        return bool(ran) and ran[0] == words[0].value and fits(words[1:], ran[1:])
    begin = words[0].prefix.removeprefix("~")
    count = next((at for at, word in enumerate(ran) if not word.startswith(begin)), len(ran))
    return any(fits(words[1:], ran[taken:]) for taken in range(count + 1))


def test_a_command_is_not_held_after_it_was_parsed() -> None:
    """A hosted agent may run thousands of commands."""
    parse("true")
    tracemalloc.start()
    try:
        for number in range(200):
            assert parse(f"echo {number} {'x' * 1000}").commands
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
