"""Settings: wrong ones are reported and left out, and only the user can extend the agent's rights."""

import json
from typing import Any

import pytest

from fairlead.app.settings import read_settings
from fairlead.code.servers.table import server_specs
from fairlead.session.settings import PlanSettings, Settings
from protocol.page import ROOT

MANIFEST: dict[str, Any] = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
DECLARED: dict[str, Any] = {
    name: setting for group in MANIFEST["contributes"]["configuration"] for name, setting in group["properties"].items()
}
# each of these decides who is asked, who answers or what is run
WIDENING = ["model", "baseUrl", "python", "replay", "approvals", "bash.allow", "bash.deny", "bash.passVariables"]
WIDENING += ["secrets.allow", "smallModel.endpoint", "smallModel.model"]
WIDENING += ["endpoint", "endpoints", "cloud.region", "cloud.project", "languageServers"]


def test_rules_are_kept_as_they_are_written() -> None:
    """Neither the order of the rules nor the blanks in them change."""
    settings, problems = read_settings({"bash": {"allow": ["npm test", "git  log *"], "deny": ["rm *"]}})
    assert (settings.bash.allow, settings.bash.deny, problems) == (("npm test", "git  log *"), ("rm *",), [])


def test_a_bad_rule_is_named_and_left_out() -> None:
    """The other rules apply, and the user reads what to write instead."""
    bash = {"allow": ["ls", "a; b", 3], "deny": "rm *", "passVariables": [" RAILS_ENV", "DJANGO_*", "*", "A=b"]}
    settings, problems = read_settings({"bash": bash, "secrets.allow": ["tests/*.pem", "!.env"]})
    assert (settings.bash.allow, settings.bash.deny) == (("ls",), ())
    assert settings.secrets.allow == ("tests/*.pem",)
    assert settings.bash.pass_variables == ("RAILS_ENV", "DJANGO_*")
    not_named = "was left out. It must be the name of a variable, with * for any characters, such as DJANGO_*."
    assert problems == [
        "bash.allow: 'a; b' was left out. "
        "A rule is one plain command, without ;, |, &&, $ or the like. Write one rule per command.",
        "bash.allow: 3 must be a string",
        "bash.deny must be a list of strings",
        f"bash.passVariables: '*' {not_named}",
        f"bash.passVariables: 'A=b' {not_named}",
        "secrets.allow: '!.env' was left out. It must be a pattern as in a .gitignore, such as tests/certs/*.pem.",
    ]


def test_the_limits_of_a_run_are_numbers_and_never_negative() -> None:
    """A fraction of a dollar is valid. A wrong value is reported and sets no limit."""
    settings, problems = read_settings({"budget": {"costUsd": 0.5, "minutes": 3, "tokens": -1}, "contextTokens": 1.5})
    assert (settings.budget.cost_usd, settings.budget.minutes, settings.budget.tokens) == (0.5, 3, 0)
    assert read_settings({"budget": {"costUsd": 10**400}}) == (
        Settings(),
        [f"budget.costUsd must be a number from 0 to 2^53, not 1{'0' * 59}..."],
    )
    assert problems == ["contextTokens must be an integer up to 2^53, not 1.5", "budget.tokens must be at least 0"]


@pytest.mark.parametrize("name", WIDENING)
def test_fault_39_a_workspace_cannot_widen_the_agents_rights(name: str) -> None:
    """docs/faults.md 39: the editor takes the settings in `WIDENING` only from the user, not from the workspace."""
    assert DECLARED[f"fairlead.{name}"]["scope"] in ("application", "machine")


def test_fault_39_the_server_reads_no_settings_of_its_own() -> None:
    """docs/faults.md 39: without the client's settings, the defaults apply, in which no rule allows a command."""
    settings, problems = read_settings(None)
    assert (settings.approvals, settings.bash.allow, settings.base_url, problems) == ("sandboxed", (), "", [])


SET = Settings(model="m", plan=PlanSettings(max_items=5, reminder_interval=7))

NOTHING_OF_OURS: dict[str, Any] = {
    "nothing (Neovim)": None,
    "an empty object (eglot 1.9 on connect)": {},
    "Lua's empty table": [],
    "an empty section": {"fairlead": {}},
    "Lua's empty table as the section": {"fairlead": []},
    "null as the section": {"fairlead": None},
    "Lua's empty table as a group": {"fairlead": {"plan": []}},
    "only other servers' sections": {"pyright": {"model": "x"}, "python.analysis.model": "x"},
    "an empty section beside flat settings": {"fairlead": {}, "model": "x", "telemetry": False},
}


@pytest.mark.parametrize("name", NOTHING_OF_OURS)
def test_fault_84_a_change_without_our_settings_changes_nothing(name: str) -> None:
    """docs/faults.md 84: all settings stay as they are, and nothing is reported to the user."""
    assert read_settings(NOTHING_OF_OURS[name], SET) == (SET, [])


@pytest.mark.parametrize("given", ["text", 1, True, ["model"]])
def test_fault_84_settings_that_are_not_an_object_are_reported_and_change_nothing(given: Any) -> None:
    """docs/faults.md 84: this applies to the settings as a whole and to the section `fairlead`."""
    assert read_settings(given, SET) == (SET, ["settings must be an object"])
    assert read_settings({"fairlead": given}, SET) == (SET, ["fairlead must be an object"])


CHANGED = [
    {"plan": {"maxItems": 3}},
    {"plan.maxItems": 3},
    {"fairlead": {"plan": {"maxItems": 3}}},
    {"fairlead": {"plan.maxItems": 3}, "python": {"plan": {"maxItems": 4}}},
    {"fairlead.plan.maxItems": 3},
    {"fairlead.plan.maxItems": 3, "fairlead.plan.reminderInterval": 7},
]


@pytest.mark.parametrize("given", CHANGED, ids=map(str, CHANGED))
def test_fault_84_a_change_of_one_setting_keeps_the_others(given: Any) -> None:
    """docs/faults.md 84: users may write a setting flat, nested or in the section `fairlead`."""
    assert read_settings(given, SET) == (Settings(model="m", plan=PlanSettings(max_items=3, reminder_interval=7)), [])


def test_null_resets_a_setting_to_its_default() -> None:
    """docs/protocol.md, Settings: null resets one setting, or all settings of a group."""
    assert read_settings({"model": None, "plan": {"maxItems": None}}, SET)[0] == Settings(
        plan=PlanSettings(reminder_interval=7)
    )
    assert read_settings({"plan": None}, SET)[0] == Settings(model="m")


def test_a_language_server_can_be_added_changed_and_switched_off() -> None:
    """docs/settings.md, Language servers: the fields that are left out are those of the known server."""
    ty = {"command": ["ty", "server"], "languages": {".py": "python"}}
    gopls = {"initializationOptions": {"gopls": {"buildFlags": []}}}
    settings, problems = read_settings({"languageServers": {"ty": ty, "gopls": gopls, "clangd": False}})
    specs = {spec.name: spec for spec in server_specs(tuple(settings.language_servers.values()))}
    assert problems == []
    assert list(specs)[:2] == ["ty", "gopls"]
    assert specs["ty"].command == ("ty", "server")
    assert (specs["gopls"].command, specs["gopls"].languages) == (("gopls",), {".go": "go"})
    assert specs["gopls"].initialization_options == {"gopls": {"buildFlags": []}}
    assert "clangd" not in specs


def test_a_users_command_for_typescript_needs_no_version() -> None:
    """Fairlead uses `tsc` from version 7 on. A program that the user names is used in any version."""
    found = [
        read_settings({"languageServers": {"typescript": value}})[0].language_servers["typescript"]
        for value in ({"command": ["tsgo", "--lsp", "--stdio"]}, {"languages": {".ts": "typescript"}})
    ]
    assert [(spec.command[0], spec.package) for spec in found] == [("tsgo", None), ("tsc", ("typescript", 7))]


WRONG_SERVERS = [
    ("ty", True),
    ("x y", {"command": "ty server", "languages": {".py": "python"}}),
    ("ty", {"command": ["ty", 3], "languages": {".py": "python"}}),
    ("ty", {"command": ["ty"]}),
    ("ty", {"command": ["ty"], "languages": {"py": "python"}}),
    ("ty", {"command": ["ty"], "languages": [".py"]}),
    ("gopls", {"initializationOptions": 3}),
    ("gopls", {"arguments": []}),
    ("pyrigth", False),
    ("gopsl", {"initializationOptions": {}}),
]


@pytest.mark.parametrize(("name", "value"), WRONG_SERVERS, ids=map(str, WRONG_SERVERS))
def test_a_wrong_language_server_is_named_and_left_out(name: str, value: Any) -> None:
    """This includes a change to a known server whose name is misspelled. The other servers apply."""
    right = {"command": ["r"], "languages": {".r": "r"}}
    settings, problems = read_settings({"languageServers": {name: value, "right": right}})
    assert list(settings.language_servers) == ["right"]
    assert len(problems) == 1 and problems[0].startswith(f"languageServers.{name}")
