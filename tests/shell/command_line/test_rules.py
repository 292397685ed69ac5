"""Rules: what they allow, what looks alike but is not allowed, and what they deny (scenarios/rules.yaml)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.shell.command_line.parse import parse
from fairlead.shell.command_line.policy import Permission, Policy, check_permission
from fairlead.shell.command_line.rules import BadRule, Rule, is_allowed
from protocol.page import ROOT, Page, names, tables

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "scenarios" / "rules.yaml").read_text(encoding="utf-8")
)
EXPECTED = {"run": "run", "ask": "ask", "deny_these": "deny"}


def cases() -> list[Any]:
    """Each command with its rules and the expected result; a number in the title is a case of docs/faults.md."""
    found: list[Any] = []
    for case in CASES:
        number, _, title = case["title"].partition(" ")
        name = f"fault_{number}: {title}" if number.isdigit() else case["title"]
        rules = [list(map(Rule.parse, case.get(key, []))) for key in ("allow", "deny")]
        found += [
            pytest.param(command, *rules, action, id=f"{name}: {command!r}")
            for key, action in EXPECTED.items()
            for command in case.get(key, [])
        ]
    return found


@pytest.mark.parametrize(("command", "allow", "deny", "action"), cases())
def test_fault_36_and_fault_37_and_fault_43_and_fault_194(
    command: str, allow: list[Rule], deny: list[Rule], action: str
) -> None:
    """docs/faults.md 36, 37, 43, 194: outside the sandbox, each command runs, asks or is denied as the case says."""
    permission = check_permission(command, Policy(allow=allow, deny=deny), where="workspace")
    assert (permission.action, bool(permission.reasons)) == (action, action != "run"), permission.reasons


DANGEROUS: dict[str, list[str]] = yaml.safe_load((ROOT / "tests/faults/dangerous_lines.yaml").read_text("utf-8"))


@pytest.mark.parametrize("line", [*DANGEROUS["program"], *DANGEROUS["subcommand"]])
def test_fault_37_no_star_allows_a_dangerous_line_outside_of_the_sandbox(line: str) -> None:
    """docs/faults.md 37: neither after the program nor, for those whose danger comes later, after its first word."""
    words = [word.text for word in parse(line).commands[-1].words]
    for named in [words[:1], *([words[:2]] if line in DANGEROUS["subcommand"] else [])]:
        assert not is_allowed(line, [Rule.parse(f"{' '.join(named)} *")])


@pytest.mark.parametrize("line", [*DANGEROUS["denied"], *DANGEROUS["harmless"]])
def test_fault_199_a_deny_rule_sees_what_other_programs_run(line: str) -> None:
    """docs/faults.md 199: the line is denied or asks; harmless ones run."""
    deny = [Rule.parse("git push *")]
    permission = check_permission(line, Policy(deny=deny), where="sandboxed")
    assert (permission.action == "run") == (line in DANGEROUS["harmless"]), permission.reasons


@pytest.mark.parametrize("line", DANGEROUS["subcommand"])
def test_a_star_covers_any_words_in_the_sandbox(line: str) -> None:
    """The sandbox confines the command, so a rule for the network need not name them."""
    parsed = parse(line)
    words = [word.text for word in parsed.commands[-1].words]
    if not parsed.unclear and all(word.value is not None for word in parsed.commands[-1].words):
        assert is_allowed(line, [Rule.parse(f"{' '.join(words[:2])} *")], outside=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "# x",
        "*",
        "* test",
        "a; b",
        "a | b",
        "a && b",
        "a\nb",
        "$x",
        "a $(b)",
        "a `b`",
        "a 'open",
        "A=1",
        "> f",
    ],
)
def test_only_a_plain_command_is_a_rule(text: str) -> None:
    """A text that is not one plain command is refused with a message about the rule."""
    with pytest.raises(BadRule, match=r"^(A rule|The rule) "):
        Rule.parse(text)


@pytest.mark.parametrize("text", ["te*", "npm te*t", "a {b,c}", "a ?", "a [b]", "src/**", "a $x"])
def test_a_pattern_whose_meaning_is_unclear_is_refused(text: str) -> None:
    """A star may only be a whole word, or the end of a word after `/`, `.` or `:`."""
    with pytest.raises(BadRule, match=r"^A rule |a \* matches whole words"):
        Rule.parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *[(text, "begins with the name") for text in ("*", "te*", "te* x", "/usr/bin/*", "$x", "~/x", "n?", "'' x")],
        *[(text, "one plain command") for text in ("te* | x", "a $(b)", "a 'open", "{a,b}", "[ -f x ]")],
        *[(text, "The rule is empty") for text in ("", "# x")],
        *[(text, "is not a plain word") for text in ("a te*", "a $x")],
    ],
)
def test_a_refused_rule_has_the_reason_that_applies(text: str, reason: str) -> None:
    """The message tells the user what to change."""
    with pytest.raises(BadRule, match=reason):
        Rule.parse(text)


@pytest.mark.parametrize(
    "text", ["git status", "git log *", "npm run x:*", "sort *", "echo hi > out", "A=1 x", "rg * src"]
)
def test_the_examples_of_a_rule_are_true(text: str) -> None:
    """The rule allows the matches and none of the misses."""
    rule = Rule.parse(text)
    examples = rule.examples()
    assert examples.matches and examples.misses
    assert all(is_allowed(command, [rule]) for command in examples.matches)
    assert not any(is_allowed(command, [rule]) for command in examples.misses)


def test_a_star_has_examples_of_what_it_covers() -> None:
    """The matches are with and without an argument. The misses include arguments that a star does not cover."""
    examples = Rule.parse("sort *").examples()
    assert examples.matches == ("sort", "sort x")
    assert examples.misses == ("sort x > f", "sort x; ls", "sudo sort x", "sort --option", "sort ../x")


def test_the_examples_on_the_page_are_true() -> None:
    """docs/commands.md: each rule allows the commands in its second column, and none of those in the third."""
    [rows] = tables(Page(ROOT / "docs" / "commands.md").section("Rules"))
    for rule, allowed, asked in rows:
        rules = [Rule.parse(names(rule)[0])]
        for command in names(allowed) or names(rule):
            assert is_allowed(command, rules), command
        for command in names(asked):
            assert not is_allowed(command, rules), command


def test_a_star_after_a_dot_stays_in_its_folder() -> None:
    """`.*` is the rest of a name, and never `..`."""
    for rule, inside, outside in (
        ("cat .*", "cat .a", "cat ../x/.a"),
        ("cat src/.*", "cat src/.a", "cat src/../x"),
    ):
        allowed = [is_allowed(command, [Rule.parse(rule)]) for command in (inside, outside)]
        assert allowed == [True, False]


def test_nested_runners_do_not_take_exponential_time() -> None:
    """A deny rule looks for its command after each of 60 nested runners, and the work must not double with each."""
    [command] = parse(" ".join(["watch"] * 60 + ["ls"])).commands
    assert not Rule.parse("rm *").denies(command)
    assert Rule.parse("ls *").denies(command)


@pytest.mark.parametrize(
    "line",
    [
        *("bash <<< 'git push'", "echo git push | sh", "cat f | sudo bash", "cat f | env -i sh", "cat f | nohup bash"),
        *("timeout 5 sh < f", "busybox sh < f", "bash -s < f", "bash /dev/stdin < f", "zsh"),
        *("bash -euo pipefail < f", "bash -x < f", "bash --rcfile g < f", "bash <(cat f)", "source <(cat f)"),
        *(". /dev/stdin < f", "bash -c 'cat f | sudo sh'"),
    ],
)
def test_fault_194_a_shell_that_reads_its_commands_asks_if_there_are_deny_rules(line: str) -> None:
    """docs/faults.md 194: also in the sandbox, where other commands run."""
    assert _in_sandbox(line).reasons[:1] == ("Parts of it cannot be checked against your deny rules.",)


@pytest.mark.parametrize(
    "line", ["bash s.sh", "bash -euo pipefail s.sh", "bash -c ls", "source f", "sudo sh s.sh", "ls"]
)
def test_a_shell_with_a_script_runs_in_the_sandbox(line: str) -> None:
    """Deny rules see no more of a script than of any other program."""
    assert _in_sandbox(line).action == "run"


def _in_sandbox(line: str) -> Permission:
    deny = [Rule.parse("git push")]
    return check_permission(line, Policy(deny=deny), where="sandboxed")


@pytest.mark.parametrize("line", ["env " * 2000 + "ls", "xargs " * 99 + "'a b'"])
def test_a_line_of_many_runners_is_searched_for_denied_commands(line: str) -> None:
    """It raises nothing, and does not take time that grows with the number of nested commands."""
    assert _in_sandbox(line).action == "run"
