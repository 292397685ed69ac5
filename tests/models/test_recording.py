"""docs/replay.md: recordings are read back as they were written, and a mistake is named with its line."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Stop, Usage
from fairlead.models.recording import Recording, Turn, read_recording, write_recording
from support.nonsense import ODD_VALUES, RECORDING, TAGGED, recordings, with_each_value, written_recording

# text that YAML 1.1 would read as something else
WORDS = """
    yes no on off y n true false True NULL null ~ 1 01 010 0x1F 0o17 1_000 1:30 1e3 1.5 .5 .inf .nan -1 +1 1.0e+5
    2020-01-01 2020-01-01T10:00:00Z = << - ? : , [] {} # & * ! | > ' " % @ ` --- ... a:b a: #x \\n \\ 日本語 🚀
"""
ODD = [*WORDS.split(), "", " ", "  a", "a ", "\ta", "a\t", "a \nb", " a\nb", "a\n b\n", "a: b", "x #y", "- a\n- b\n"]
ODD += ["\n", "\na", "a\n", "a\n\n", "\r", "a\r\nb", "\x85", "a\x85b", "\u2028", "\u2029", "\ufeff", "a\ufeff"]
ODD += ["\x00", "\x07\x1b", "\x7f", "e\u0301", "replay: 1\n", "---\na\n...\n"]
ODD += ["x" * 200, "word " * 40, "日" * 120, "a\n" + "word " * 40]
TEXTS = st.sampled_from(ODD) | st.text(max_size=20) | st.lists(st.sampled_from(ODD), max_size=3).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["bash", "todo", "read_file", "yes", "1", "null", "=", "<<", "日本", "a b", "", "a: b", "x\ny"])
USAGES = st.builds(Usage, st.just(1), *[st.integers(0, 10**9)] * 4)
TURNS = st.builds(
    Turn,
    text=TEXTS,
    thinking=TEXTS,
    calls=st.lists(st.tuples(NAMES, st.dictionaries(TEXTS, JSON, max_size=3)), max_size=3).map(tuple),
    stop=st.none() | st.sampled_from(get_args(Stop)),
    usage=USAGES,
    when=TEXTS,
)
RECORDINGS = st.builds(
    Recording,
    turns=st.lists(TURNS, max_size=3).map(tuple),
    about=TEXTS,
    pace=st.floats(0, 5),
)


@given(RECORDINGS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_written_recording_is_read_back(tmp_path: Path, recording: Recording) -> None:
    """Nothing is lost or converted: Chinese, surrounding whitespace, and texts like `yes`, dates and numbers stay."""
    path = tmp_path / "r.yaml"
    write_recording(path, recording)
    assert read_recording(path) == recording


def test_a_written_recording_is_readable(tmp_path: Path) -> None:
    """Code is in blocks, plain words have no quotes, Chinese is not escaped, and there are no aliases."""
    todo: dict[str, Any] = {"items": [{"content": "分析性能 🚀", "status": "pending"}]}
    edit = {"path": "a.py", "content": "def f():\n    return 1\n"}
    turns = (Turn("我先看看。", "Hm.", (("todo", todo), ("write_file", edit))), Turn(calls=(("todo", todo),)), Turn())
    write_recording(tmp_path / "r.yaml", Recording(turns, "Refactor", 0.5))
    assert (tmp_path / "r.yaml").read_text(encoding="utf-8") == (
        "replay: 1\n"
        "about: Refactor\n"
        "pace: 0.5\n"
        "turns:\n"
        "- thinking: Hm.\n"
        "  text: 我先看看。\n"
        "  calls:\n"
        "  - todo:\n"
        "      items:\n"
        "      - content: 分析性能 🚀\n"
        "        status: pending\n"
        "  - write_file:\n"
        "      path: a.py\n"
        "      content: |\n"
        "        def f():\n"
        "            return 1\n"
        "- calls:\n"
        "  - todo:\n"
        "      items:\n"
        "      - content: 分析性能 🚀\n"
        "        status: pending\n"
        "- text: ''\n"
    )


def read(folder: Path, text: str | bytes) -> Recording:
    path = folder / "hand.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_recording(path)


HEAD = "replay: 1\nturns:\n"


def value(folder: Path, yaml: str) -> Any:
    """The value that is read from a call's input."""
    return read(folder, f"{HEAD}- calls:\n  - bash: {{x: {yaml}}}\n").turns[0].calls[0][1]["x"]


@pytest.mark.parametrize(
    "word",
    [
        "yes",
        "no",
        "on",
        "off",
        "y",
        "True",
        "NULL",
        "010",
        "0x1F",
        "1_000",
        "1:30",
        "2020-01-01",
        "=",
        "<<",
        ".inf",
        "1.",
    ],
)
def test_words_are_text(tmp_path: Path, word: str) -> None:
    """None of the special words of YAML 1.1 is special here."""
    assert value(tmp_path, word) == word


@pytest.mark.parametrize(
    ("word", "meant"),
    [("true", True), ("null", None), ("~", None), ("7", 7), ("-7", -7), ("1.5", 1.5), ("1e3", 1000.0), ("'7'", "7")],
)
def test_json_values_are_not_text(tmp_path: Path, word: str, meant: Any) -> None:
    """Numbers, booleans and null are read as such; in quotes they are text."""
    assert value(tmp_path, word) == meant
    assert type(value(tmp_path, word)) is type(meant)


BY_HAND = {
    "a block loses the line endings around it": (
        f"{HEAD}- text: |\n\n    One\n    Two\n\n\n- text: Three\n",
        ["One\nTwo", "Three"],
    ),
    "quotes keep the line endings": (f'{HEAD}- text: "\\nOne\\n"\n', ["\nOne\n"]),
    "CRLF": (f"{HEAD}- text: |\n    One\n    Two\n".replace("\n", "\r\n"), ["One\nTwo"]),
    "a byte order mark": (f"\ufeff{HEAD}- text: One\n", ["One"]),
    "comments": (f"# mine\n{HEAD}# more\n- text: One # said\n", ["One"]),
    "flow style": ('{"replay": 1, "turns": [{"text": "One"}]}', ["One"]),
    "an alias": (f"{HEAD}- &a {{text: One}}\n- *a\n", ["One", "One"]),
    "no turns": ("replay: 1\nturns: []\n", []),
    "an empty turn": (f"{HEAD}- {{}}\n", [""]),
    "a folded text": (f"{HEAD}- text: >\n    One\n    Two\n", ["One Two"]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_file_may_be_written_by_hand(tmp_path: Path, name: str) -> None:
    """The usual styles of YAML are accepted."""
    text, texts = BY_HAND[name]
    assert [turn.text for turn in read(tmp_path, text).turns] == texts


def test_names_of_an_input_are_text(tmp_path: Path) -> None:
    """An input is a JSON object, so its names are text whatever they look like."""
    (turn,) = read(tmp_path, f"{HEAD}- calls:\n  - bash: {{1: a, true: b, ~: [{{2: c}}]}}\n").turns
    assert turn.calls == (("bash", {"1": "a", "true": "b", "~": [{"2": "c"}]}),)


CALL = f"{HEAD}- calls:\n  - bash: "
MISTAKES = {
    "empty": ("", 1, "the file is empty"),
    "comments only": ("# nothing\n", 1, "the file is empty"),
    "a list": ("- text: x\n", 1, "a recording must be an object"),
    "a word": ("hello\n", 1, "a recording must be an object"),
    "no version": ("turns:\n- text: x\n", 1, "“replay: 1” is missing"),
    "another version": ("about: x\nreplay: 2\nturns: []\n", 2, "“replay” must be 1"),
    "no turns": ("about: x\nreplay: 1\n", 1, "“turns” is missing"),
    "turns are no list": ("replay: 1\nturns: x\n", 2, "“turns” must be a list"),
    "turns are nothing": ("replay: 1\nturns:\n", 2, "“turns” must be a list"),
    "an unknown field": (
        "replay: 1\nturn:\n- text: x\n",
        2,
        "unknown field “turn”; a recording has replay, about, pace, turns",
    ),
    "an unknown field of a turn": (f"{HEAD}- text: x\n  say:\n    - y\n", 4, "unknown field “say”; a turn has text,"),
    "a field twice": (f"{HEAD}- text: x\n  text: y\n", 4, "“text” is given twice"),
    "a name that is no text": (f"{HEAD}- [a]: x\n", 3, "a name must be text"),
    "a turn that is no object": (f"{HEAD}- text: x\n- hello\n", 4, "a turn must be an object"),
    "text that is a number": (f"{HEAD}- text: 12\n", 3, "“text” must be text; put it in quotes"),
    "text that is a list": (f"{HEAD}- text: [a]\n", 3, "“text” must be text; put it in quotes"),
    "an unknown stop": (f"{HEAD}- stop: true\n", 3, "“stop” must be one of done, calls, cut_off"),
    "calls that are no list": (f"{HEAD}- calls: {{bash: {{}}}}\n", 3, "“calls” must be a list"),
    "a call that is a word": (f"{HEAD}- calls: [bash]\n", 3, "a call must be an object"),
    "a call with two names": (
        f"{HEAD}- calls:\n  - bash: {{}}\n    todo: {{}}\n",
        4,
        "a call must be one tool's name with its input",
    ),
    "a call without a name": (f"{HEAD}- calls:\n  - {{}}\n", 4, "a call must be one tool's name with its input"),
    "an input that is text": (f"{CALL}ls\n", 4, "the input of “bash” must be an object"),
    "an input that is nothing": (f"{CALL}\n", 4, "the input of “bash” must be an object"),
    "an input that JSON cannot represent": (f"{CALL}{{x: !!binary aGk=}}\n", 4, "JSON has no such value"),
    "a tagged date": (f"{CALL}{{x: !!timestamp 2020-01-01}}\n", 4, "JSON has no such value"),
    "a Python object": (f"{CALL}{{x: !!python/object/apply:os.system [ls]}}\n", 4, "could not determine a constructor"),
    "a tagged set": (f"{CALL}{{x: !!set {{a, b}}}}\n", 4, "JSON has no such value"),
    "a tagged infinity": (f"{CALL}{{x: !!float .inf}}\n", 4, "JSON has no such value"),
    "aliases that nest": (
        HEAD + "".join(f"- calls: [{{bash: &a{n} {{x: {f'*a{n - 1}' if n else 1}}}}}]\n" for n in range(900)),
        3,
        "levels deep",
    ),
    "an invalid value tagged as a whole number": (
        f"{CALL}{{x: !!int abc}}\n",
        4,
        "the input of “bash”: “x”: the value is not valid for",
    ),
    "an empty value tagged as a whole number": (
        f"{HEAD}- text: !!int ''\n",
        3,
        "turn 1: “text” is not valid for the type int",
    ),
    "an invalid value tagged as a fraction": (
        "replay: 1\npace: !!float x\nturns: []\n",
        2,
        "“pace” is not valid for the type float",
    ),
    "an invalid value tagged as a boolean": (
        f"{HEAD}- stop: !!bool maybe\n",
        3,
        "turn 1: “stop” is not valid for the type bool",
    ),
    "an invalid value tagged as a date": (
        f"{HEAD}- text: !!timestamp x\n",
        3,
        "turn 1: “text” is not valid for the type timestamp",
    ),
    "5,000 digits": (f"{HEAD}- text: a\n- usage: {{input: {'9' * 5000}}}\n", 4, "turn 2: “input” is not valid for"),
    "a count that is too large for a cost": (
        f"{HEAD}- usage: {{input: {'9' * 400}}}\n",
        3,
        "must be a number of tokens",
    ),
    "a custom tag": (f"{CALL}{{x: !mine 1}}\n", 4, "could not determine a constructor"),
    "pace that is too slow": (
        "replay: 1\npace: 6\nturns: []\n",
        2,
        "“pace” must be the pause after each word in seconds, 0 to 5",
    ),
    "pace that is negative": ("replay: 1\npace: -1\nturns: []\n", 2, "“pace” must be the pause"),
    "pace that is a word": ("replay: 1\npace: slow\nturns: []\n", 2, "“pace” must be the pause"),
    "pace that is true": ("replay: 1\npace: true\nturns: []\n", 2, "“pace” must be the pause"),
    "usage that is no object": (f"{HEAD}- usage: 5\n", 3, "usage must be an object"),
    "an unknown usage": (f"{HEAD}- usage:\n    tokens: 5\n", 4, "unknown field “tokens”; usage has input, cacheRead,"),
    "usage that is no number": (f"{HEAD}- usage: {{input: many}}\n", 3, "“input” must be a number of tokens"),
    "usage that is negative": (f"{HEAD}- usage: {{output: -5}}\n", 3, "“output” must be a number of tokens"),
    "usage that is true": (f"{HEAD}- usage: {{output: true}}\n", 3, "“output” must be a number of tokens"),
    "a colon in plain text": (f"{HEAD}- text: Done: all\n", 3, "mapping values are not allowed"),
    "a tab": ("replay: 1\n\tturns: []\n", 2, "tab"),
    "an open quote": (f'{HEAD}- text: "One\n', 4, "unexpected end of stream"),
    "an open bracket": (f"{CALL}{{x: 1\n", 5, "did not find expected"),
    "two documents": ("replay: 1\nturns: []\n---\nreplay: 1\n", 3, "another document"),
    "a control character": (f"{HEAD}- text: 日本\n- text: a\x07b\n", 4, "write an escape in double quotes"),
    "NUL": ("replay: 1\n\x00\n", 2, "write an escape in double quotes"),
    "a lone surrogate": (f'{HEAD}- text: "\\ud800"\n', 3, "invalid Unicode"),
    "an alias of nothing": (f"{HEAD}- *a\n", 3, "“*a” refers to a value that is missing or not complete yet"),
    "an alias of itself": (f"{CALL}&a {{x: *a}}\n", 4, "“*a” refers to a value that is missing or not complete yet"),
    "very deep": (f"{CALL}{{x: {'[' * 200}{']' * 200}}}\n", 4, "the file is too large"),
    "deep enough to crash a parser": (f"{CALL}{'[' * 200_000}\n", 4, "the file is too large"),
    "aliases that multiply": (
        HEAD
        + "".join(
            f"- calls: [{{bash: &a{n} {{x: [{', '.join([f'*a{n - 1}'] * 9) if n else 1}]}}}}]\n" for n in range(9)
        ),
        9,
        "the file is too large",
    ),
}


def check(path: Path, data: bytes) -> None:
    """Checks that the recording is read, or that the error has the kind `replay` and names the file."""
    path.write_bytes(data)
    refused = None
    try:
        read_recording(path)
    except ModelError as error:
        refused = error
    assert refused is None or (refused.kind, str(path) in refused.message) == ("replay", True)


@given(recordings())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_fault_92_a_damaged_recording_is_an_error_with_its_file(tmp_path: Path, data: bytes) -> None:
    """docs/faults.md 92: whatever the file contains, the only error is a `ModelError` that names the file."""
    check(tmp_path / "odd.yaml", data)


def test_fault_92_each_odd_value_in_each_field_of_a_recording(tmp_path: Path) -> None:
    """docs/faults.md 92: one value at a time, so that no other error hides its effect."""
    for recording in with_each_value(RECORDING, [*ODD_VALUES, *TAGGED]):
        check(tmp_path / "odd.yaml", written_recording(recording))


@pytest.mark.parametrize("name", MISTAKES)
def test_fault_92_a_mistake_is_named_with_its_line_and_the_reason(tmp_path: Path, name: str) -> None:
    """The error has the kind `replay`, is not retried, and begins with the file and the line."""
    text, line, reason = MISTAKES[name]
    with pytest.raises(ModelError) as error:
        read(tmp_path, text)
    assert (error.value.kind, error.value.retryable) == ("replay", False)
    assert error.value.message.startswith(f"{tmp_path / 'hand.yaml'}, line {line}: ")
    assert reason in error.value.message
    assert error.value.message.endswith(".")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "cannot be read: No such file or directory"),
        (lambda path: path.mkdir(), "cannot be read: Is a directory"),
        (lambda path: path.write_bytes(b"replay: 1\n\xff"), "is not UTF-8 text"),
        (lambda path: path.write_bytes("replay: 1\n".encode("utf-16")), "is not UTF-8 text"),
    ],
    ids=["missing", "folder", "other bytes", "UTF-16"],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, make: Any, reason: str) -> None:
    """The error contains the full path, because the setting may be wrong."""
    path = tmp_path / "r.yaml"
    make(path)
    with pytest.raises(ModelError) as error:
        read_recording(path)
    assert error.value.kind == "replay"
    assert error.value.message == f"The replay file {path} {reason}."


WRITE_TO_A_FULL_DISK = """
import resource, sys
from pathlib import Path
from fairlead.models.recording import Recording, Turn, write_recording
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
write_recording(Path(sys.argv[1]), Recording((Turn(text="word " * 1000),)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the limit of a file's size is POSIX")
def test_fault_11_a_recording_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    """docs/faults.md 11: the old recording stays complete, and no other file is left. A successful write preserves the
    permissions.
    """
    path = tmp_path / "r.yaml"
    before = Recording((Turn(text="before"),))
    write_recording(path, before)
    path.chmod(0o600)
    ended = subprocess.run(
        [sys.executable, "-c", WRITE_TO_A_FULL_DISK, path], capture_output=True, text=True, check=False
    )
    assert "OSError: [Errno 27]" in ended.stderr
    assert (read_recording(path), os.listdir(tmp_path)) == (before, ["r.yaml"])
    write_recording(path, before)
    assert path.stat().st_mode & 0o777 == 0o600
