"""When a command runs, asks or is denied, and the reasons."""

from dataclasses import replace
from typing import Any, Literal

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from fairlead.shell.command_line.policy import MAX_REASONS, Permission, Policy, check_permission
from fairlead.shell.command_line.rules import Rule, is_allowed
from fairlead.shell.network import Network, Service

Approvals = Literal["ask", "sandboxed"]
RIGHTS = "It runs outside the sandbox, with your permissions."
NETWORK = (
    "It uses the network: it reaches every address on the internet, but nothing on this machine or in your local "
    "network."
)
ALLOWED = ["ls", "git log *", "echo *", "find *", "npm test"]
ALLOW = list(map(Rule.parse, ALLOWED))
ALLOWED_COMMANDS = st.sampled_from(["ls", "git log", "git log main", "echo a b", "find . src", "npm test"])
PIECES = [
    "a", "rm x", "ls", "echo", " ", "\n", ";", "&", "|", "(", ")", "{ ", " }", "$(", "`", "'", '"', "\\", "#",
    "<<E", "E", "$x", "${", ">", "<", "=", "*", "~", "!", "if ", "then ", "fi", "[[ ", " ]]", "time ", "é", "\t",
    "f()", "\0",
]  # fmt: skip
TEXTS = st.text() | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
JOINS = [
    "{c}; {t}", "{c} && {t}", "{c} || {t}", "{c} | {t}", "{c} & {t}", "{c}\n{t}", "{c} $({t})", "{c} `{t}`",
    '{c} "$({t})"',
]  # fmt: skip


def judge(command: str, **given: Any) -> Permission:
    """The permission for a command in the sandbox, with the default settings except for the given ones."""
    policy = Policy(**{name: given.pop(name) for name in ("approvals", "allow", "deny") if name in given})
    return replace(check_permission(command, policy, **{"where": "sandboxed", **given}), rules=())


@settings(deadline=None)
@given(
    st.one_of(TEXTS, ALLOWED_COMMANDS, st.sampled_from(["pip install x && npm ci", "FOO=1 make > log", "a 'b c' | d"]))
)
def test_the_suggested_rules_let_the_command_run_and_no_longer_one(command: str) -> None:
    asked = check_permission(command, Policy(approvals="ask", allow=ALLOW), where="workspace")
    rules = list(map(Rule.parse, asked.rules))
    with_rules = Policy(approvals="ask", allow=[*ALLOW, *rules])
    if rules:
        assert check_permission(command, with_rules, where="workspace").action == "run"
    for rule in rules:
        assert not is_allowed(f"{rule.text} more", [rule])


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("pip install requests", ("pip install requests",)),
        ("npm test && npm run 'build all'", ("npm run 'build all'",)),
        ("npm ci; npm ci", ("npm ci",)),
        ("FOO=1 make > log", ("FOO=1 make > log",)),
        ("rm *.txt", ()),
        ("echo $(date)", ()),
        ("ls $HOME", ()),
        ("make \u202etset", ()),
        ("make 'a\nb'", ()),
    ],
)
def test_rules_are_suggested_for_what_is_not_allowed_yet(command: str, rules: tuple[str, ...]) -> None:
    assert check_permission(command, Policy(allow=ALLOW), where="workspace").rules == rules


@pytest.mark.parametrize(
    "command", ["npm test", "rm -rf .", "$x", "a | b > c; $(d)", "open 'quote", "# only", "\u202e"]
)
def test_sandboxed_commands_run_without_asking(command: str) -> None:
    """Whatever the command is, it cannot write outside the sandbox or reach the network."""
    assert judge(command) == Permission("run")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"network": Network(internet=True)}, NETWORK),
        ({"where": "workspace"}, RIGHTS),
        ({"approvals": "ask"}, "Your settings require approval for every command."),
    ],
)
def test_more_access_asks_unless_a_rule_allows_it(given: dict[str, Any], reason: str) -> None:
    """The user sees the reason. If a rule allows the command, it runs without asking in each of these cases."""
    assert judge("npm test", **given) == Permission("ask", (reason,))
    assert judge("npm test", allow=ALLOW, **given) == Permission("run")


def test_services_ask_whatever_the_rules_allow() -> None:
    """A rule names a command, not what it reaches."""
    services = frozenset({Service("localhost", 5432), Service("10.0.0.1", 80), Service("::1", 1)})
    permission = judge("npm test", network=Network(services=services), allow=ALLOW)
    own, others = (
        "It reaches this on your machine: [::1]:1, localhost:5432.",
        "It reaches this in your network: 10.0.0.1:80.",
    )
    assert permission == Permission("ask", (own, others))
    assert judge("npm test", network=Network(internet=True), proxies=[Service("p", 8)]).reasons == (
        NETWORK,
        "It also reaches the proxy that your environment names, and whatever that leads to: p:8.",
    )
    both = Network(internet=True, services=frozenset({Service("localhost", 5432)}))
    assert judge("npm test", network=both).reasons[:2] == (NETWORK, "It reaches this on your machine: localhost:5432.")


REASONS = {
    "npm publish": ["No rule allows: npm publish"],
    "ls; npm publish; npm publish": ["No rule allows: npm publish"],
    "echo hi > out.txt": ["It writes to out.txt (>).", "No rule allows: echo hi"],
    "echo $(id -u)": [
        "The rule `echo *` does not cover $(id -u). Outside the sandbox, its * covers only plain names.",
        "No rule allows: id -u",
    ],
    "git log --output=x": [
        "The rule `git log *` does not cover --output=x. Outside the sandbox, its * covers only plain names."
    ],
    "find . -exec ls {} +": [
        "The rule `find *` does not cover -exec. Outside the sandbox, its * covers only plain names."
    ],
    "$cmd x": ["The program's name is not known before it runs: $cmd", "No rule allows: $cmd x"],
    "[ -f x ] && ls": ["It contains a test or a calculation, which can run other commands ([ ], [[ ]], (( )))."],
    "x=1": ["It sets x=1."],
    "ls \u202e": [
        "It contains characters that are invisible or change the direction of the text.",
        "No rule allows: ls \\u202e",
    ],
    "a" * 100: ["No rule allows: " + "a" * 79 + "…"],
}


@pytest.mark.parametrize("command", REASONS)
def test_the_reasons_are_exact(command: str) -> None:
    """Each reason tells the user what the problem is. The first one says where the command runs."""
    assert judge(command, where="workspace", allow=ALLOW) == Permission("ask", (RIGHTS, *REASONS[command]))


def test_the_number_of_reasons_is_limited() -> None:
    """Otherwise a long command would fill the screen."""
    permission = judge(
        "; ".join(f"x{n}" for n in range(20)), where="workspace", network=Network(internet=True), allow=ALLOW
    )
    assert len(permission.reasons) == MAX_REASONS + 1
    assert permission.reasons[:2] == (RIGHTS, "No rule allows: x0")
    assert permission.reasons[-1] == "And 15 more."


def test_deny_rules_apply_in_the_sandbox() -> None:
    """A deny rule wins over an allow rule for the same command, wherever the command runs."""
    rules = [Rule.parse("git push *")]
    said = Permission("deny", ("Your deny rule blocks it: git push *",))
    for more in ({}, {"allow": rules}, {"where": "workspace"}, {"approvals": "ask"}):
        assert judge("cd x && git push origin", deny=rules, **more) == said
    assert judge("git status", deny=rules) == Permission("run")


def test_an_unclear_command_asks_if_there_are_deny_rules() -> None:
    """The name of the program is computed, so it could be a denied one."""
    permission = judge("$(echo git) push", deny=[Rule.parse("git push *")])
    assert permission.action == "ask"
    assert permission.reasons[0] == "Parts of it cannot be checked against your deny rules."


@settings(deadline=None)
@given(ALLOWED_COMMANDS, TEXTS, st.sampled_from(JOINS))
def test_fault_36_nothing_else_runs_with_an_allowed_command(command: str, text: str, join: str) -> None:
    """docs/faults.md 36: an allowed command joined with any text runs without asking only if the text alone would."""
    whole = join.format(c=command, t=text)
    if judge(whole, where="workspace", allow=ALLOW).action == "run":
        alone = judge(text, where="workspace", allow=ALLOW)
        assert alone.action == "run" or not text.partition("#")[0].strip(" \t\n"), whole


@settings(deadline=None)
@given(TEXTS, st.sampled_from(ALLOWED))
def test_deny_is_never_weaker_than_allow(command: str, rule: str) -> None:
    """A command that an allow rule covers is denied if the same rule is a deny rule."""
    rules = [Rule.parse(rule)]
    if judge(command, where="workspace", allow=rules).action == "run":
        assert judge(command, where="workspace", deny=rules).action == "deny"
