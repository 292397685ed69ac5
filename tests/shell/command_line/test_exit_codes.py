"""Compares the commands that `parse` marks as deciding the exit code of a line with those that decide it in bash."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations, count

import hypothesis.strategies as st
import pytest
from hypothesis import assume, example, given, settings

from fairlead.shell.command_line.parse import parse

MAX_CHECKERS = 3
CHECKER = re.compile(r"\bC\b")
SIMPLE = st.sampled_from(
    [
        *["C"] * 6, "true", "false", "exit 0", "exit 1", "exit", "exit $?", "exit 1 2", "return 0", "break", "set -e",
        "set +e", "set -eu", "set -o pipefail", "set +o pipefail", "command exit 0", "exit 0 > /none/f", "x=1",
        "set +e > /none/f", "false > /dev/null", "C > /none/f", "[ -n x ]",
    ]
)  # fmt: skip
FORMS = [
    "{a}; {b}", "{a}\n{b}", "{a}; {b}; {c}", "set -e; {a}; {b}", "{a} && {b}", "{a} || {b}", "! {a}", "{{ {a}; }}",
    "( {a} )", "{a} | {b}", "{a} & {b}", "{{ {a}; }} > /dev/null", "( {a} ) > /none/f", "x=$({a})",
    "if {a}; then {b}; else {c}; fi", "while {a}; do {b}; break; done", "for i in 1 2; do {a}; done",
    "cat <<E && {a}\nE\n{b}",
]  # fmt: skip
SCRIPTS = st.recursive(
    SIMPLE,
    lambda inner: st.builds(lambda form, a, b, c: form.format(a=a, b=b, c=c), st.sampled_from(FORMS), *[inner] * 3),
    max_leaves=12,
)
# runs $SCRIPT for each of $CASES, and prints its exit code and the checkers that ran
DRIVER = """
for FAILING in $CASES; do
    export FAILING
    ran=$(timeout 10 bash -c "$SCRIPT" 3>&1 > /dev/null 2>&1 < /dev/null)
    echo $? $ran
done
"""
CHECKERS = {
    f"BASH_FUNC_C{n}%%": f"() {{ echo C{n} >&3; case $FAILING in *C{n}*) return 1;; esac; }}"
    for n in range(MAX_CHECKERS)
}


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("bash"), reason="needs a recent bash")
@settings(deadline=None, max_examples=200)
@given(SCRIPTS)
@example("set -e; set +e; C; true")
@example("set -e; { C; true; } && echo ok")
@example("exit && C > /none/f | { true; }")
@example("{ ! false > /dev/null | C; } && true")
def test_fault_104_a_passing_line_ran_every_deciding_command_successfully(template: str) -> None:
    """docs/faults.md 104: whichever checkers fail, exit code 0 means that each deciding one ran and passed."""
    numbers = count()
    script = CHECKER.sub(lambda _: f"C{next(numbers)}", template)
    total = next(numbers)
    assume(0 < total <= MAX_CHECKERS)
    names = (each.words[0].text for each in parse(script).commands if each.decides and each.words)
    deciding = [name for name in names if re.fullmatch(r"C\d", name)]
    if not deciding:
        return
    for failing, (code, *ran) in results(script, total):
        assert code != "0" or all(name in ran and name not in failing for name in deciding), (script, failing, deciding)


def results(script: str, total: int) -> Iterator[tuple[str, list[str]]]:
    """Each set of failing checkers, with the exit code of the line and the checkers that ran."""
    cases = [
        "".join(f"C{n}" for n in chosen) or "none"
        for size in range(total + 1)
        for chosen in combinations(range(total), size)
    ]
    environment = {
        "PATH": os.environ["PATH"],
        "SCRIPT": f"set -o pipefail\n{script}",
        "CASES": " ".join(cases),
        **CHECKERS,
    }
    done = subprocess.run(
        [shutil.which("bash") or "", "-c", DRIVER],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return zip(cases, map(str.split, done.stdout.splitlines()), strict=True)
