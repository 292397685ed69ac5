"""Settings: what is wrong is named and left out, and what widens the agent's rights is the person's alone."""

import json
from typing import Any

import pytest

from fairlead.lsp.settings import read_settings
from protocol.page import ROOT

DECLARED: dict[str, Any] = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["contributes"][
    "configuration"
]["properties"]
# each of these chooses who is asked, who answers or what is run
WIDENING = ["model", "baseUrl", "python", "replay", "approvals", "bash.allow", "bash.deny"]
WIDENING += ["provider", "cloud.region", "cloud.project"]


def test_rules_are_kept_as_they_are_written() -> None:
    """In their order, with their blanks."""
    settings, problems = read_settings({"bash": {"allow": ["npm test", "git  log *"], "deny": ["rm *"]}})
    assert (settings.bash.allow, settings.bash.deny, problems) == (("npm test", "git  log *"), ("rm *",), [])


def test_a_bad_rule_is_named_and_left_out() -> None:
    """The others hold, and the person reads what to write instead."""
    settings, problems = read_settings({"bash": {"allow": ["ls", "a; b", 3], "deny": "rm *"}})
    assert (settings.bash.allow, settings.bash.deny) == (("ls",), ())
    assert problems == [
        "bash.allow: 'a; b' was left out. "
        "A rule is one plain command, without ;, |, &&, $ or the like; write one rule for each.",
        "bash.allow: 3 is no rule, which is a text",
        "bash.deny must be a list of rules",
    ]


def test_what_a_run_may_use_is_a_number_and_never_negative() -> None:
    """A fraction of a dollar is one; what is none is named, and sets no bound."""
    settings, problems = read_settings({"budget": {"costUsd": 0.5, "minutes": 3, "tokens": -1}, "contextTokens": 1.5})
    assert (settings.budget.cost_usd, settings.budget.minutes, settings.budget.tokens) == (0.5, 3, 0)
    assert problems == ["contextTokens must be a whole number", "budget.tokens must be at least 0"]


@pytest.mark.parametrize("name", WIDENING)
def test_fault_39_a_workspace_cannot_set_what_widens(name: str) -> None:
    """docs/faults.md 39: the editor takes these from the user's settings only."""
    assert DECLARED[f"fairlead.{name}"]["scope"] in ("application", "machine")


def test_fault_39_the_server_reads_no_settings_of_its_own() -> None:
    """docs/faults.md 39: without any from the client they are the defaults, with which nothing is allowed."""
    settings, problems = read_settings(None)
    assert (settings.approvals, settings.bash.allow, settings.base_url, problems) == ("sandboxed", (), "", [])
