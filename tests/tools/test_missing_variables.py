"""A failed sandboxed command that lacks a variable of the user's environment says so."""

import pytest

from fairlead.tools.missing_variables import MissingVariables

ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "shop.settings",
    "RAILS_ENV": "test",
    "DEBUG": "1",
    "PATH": "/bin",
    "API_KEY": "hunter2",
    "DATABASE_URL": "postgres://u:hunter2@localhost/db",
    "ANTHROPIC_MODEL": "m",
    "DISPLAY": ":0",
    "path": "x",
}
PASSED = {"PATH": "/bin"}


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("    raise KeyError(key)\nKeyError: 'DJANGO_SETTINGS_MODULE'", "DJANGO_SETTINGS_MODULE"),
        ("You must define the environment variable DJANGO_SETTINGS_MODULE.", "DJANGO_SETTINGS_MODULE"),
        ("bash: line 1: RAILS_ENV: unbound variable", "RAILS_ENV"),
        ("${DEBUG} is not set", "DEBUG"),
    ],
)
def test_a_variable_that_the_output_names_is_reported_once(output: str, name: str) -> None:
    """The sentence names the setting, and does not show the value."""
    variables = MissingVariables(ENVIRONMENT)
    hint = variables.hint(output, PASSED)
    assert hint.startswith(f"The user's environment has {name}, but sandboxed commands do not get it.")
    assert "bash.passVariables" in hint
    assert ENVIRONMENT[name] not in hint.replace(name, "")
    assert variables.hint(output, PASSED) == ""


@pytest.mark.parametrize(
    "output",
    [
        "",
        "KeyError: 'SECRET_NAME_THAT_NOBODY_SET'",
        "KeyError: 'API_KEY'",
        "DATABASE_URL is not set",
        "ANTHROPIC_MODEL is not set",
        "PATH: not found",
        "MY_RAILS_ENV and RAILS_ENVIRONMENT are not set",
        "no such path; debug it",
        "Missing X server or $DISPLAY",
    ],
)
def test_other_failures_have_no_hint(output: str) -> None:
    """Nothing is said about secrets, variables that the command has, and those whose value is useless in a box."""
    assert MissingVariables(ENVIRONMENT).hint(output, PASSED) == ""


def test_a_passed_variable_is_not_missing() -> None:
    """With the setting, the command has the variable, so it failed for another reason."""
    assert MissingVariables(ENVIRONMENT).hint("RAILS_ENV is wrong", {**PASSED, "RAILS_ENV": "test"}) == ""
