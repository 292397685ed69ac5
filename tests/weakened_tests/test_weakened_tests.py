"""P22: the changes that weaken tests are found, and honest changes of tests are not."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.weakened_tests.find import ChangedFile, find_weakenings

FIXTURES = Path(__file__).parent / "fixtures"
MUTATIONS = yaml.safe_load((FIXTURES / "mutations.yaml").read_text(encoding="utf-8"))
HONEST = yaml.safe_load((FIXTURES / "honest.yaml").read_text(encoding="utf-8"))


def _mutated(mutation: dict[str, Any]) -> ChangedFile:
    text = MUTATIONS["texts"][mutation["of"]]
    path, old = text["path"], text["text"]
    if mutation.get("delete"):
        return ChangedFile(path, path, old, None)
    if "move" in mutation:
        return ChangedFile(path, mutation["move"], old, old)
    assert old.count(mutation["replace"]) == 1, mutation
    return ChangedFile(path, path, old, old.replace(mutation["replace"], mutation["with"]))


def _name(case: dict[str, Any]) -> str:
    return f"{case['of']}: {case.get('reason') or 'missed: ' + case['missed']}"


@pytest.mark.parametrize("mutation", MUTATIONS["mutations"], ids=_name)
def test_a_weakened_test_is_found_or_is_a_known_miss(mutation: dict[str, Any]):
    """P22: each mutation has the reason that is written next to it. A known miss that is found should be no miss."""
    found = [str(each.reason) for each in find_weakenings([_mutated(mutation)]).get(_mutated(mutation).path, ())]
    if "missed" in mutation:
        assert found == []
    else:
        assert any(mutation["reason"] in reason for reason in found), found


def test_the_mutations_are_a_hundred():
    """P22: what the documentation says about the number of mutations is true."""
    assert sum("reason" in mutation for mutation in MUTATIONS["mutations"]) >= 100


@pytest.mark.parametrize("change", HONEST, ids=lambda change: change["name"])
def test_an_honest_change_of_tests_is_no_alarm(change: dict[str, Any]):
    """P22: adding, moving, renaming and rewriting tests weakens none."""
    files = [
        ChangedFile(path, texts.get("moved") or path, texts.get("old"), texts.get("new"))
        for path, texts in change["files"].items()
    ]
    assert {path: [str(each.reason) for each in found] for path, found in find_weakenings(files).items()} == {}


@pytest.mark.parametrize("name", MUTATIONS["texts"])
def test_an_unchanged_text_is_no_alarm(name: str):
    """P22: what does not change weakens nothing, nor does a new file."""
    text = MUTATIONS["texts"][name]
    assert find_weakenings([ChangedFile(text["path"], text["path"], text["text"], text["text"])]) == {}
    assert find_weakenings([ChangedFile(text["path"], text["path"], None, text["text"])]) == {}


DEEP = 50_000


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("tests/test_a.py", "def test_a():\n    assert f() == 1\n", "def test_a(:\n"),
        ("tests/test_a.py", "def test_a():\n    assert f() == 1\n", f"x = {'-' * DEEP}1\n"),
        (
            "tests/test_a.py",
            "def test_a():\n    assert f() == 1\n",
            f"x = a{'.b' * DEEP}\ndef test_a(): assert f() == 1\n",
        ),
        (
            "a.test.ts",
            "it('a', () => { expect(f()).toBe(1); });\n",
            f"it('a', () => {{ {'(' * DEEP}1{')' * DEEP} }});\n",
        ),
        ("a_test.go", "package a\nfunc TestA(t *testing.T) { t.Fatal() }\n", f"package a\n{'func() {' * DEEP}"),
        ("tests/test_a.py", "def test_a():\n    assert f() == 1\n", "# long\n" * 100_000),
    ],
    ids=["no Python", "many signs", "many names", "deep brackets", "deep functions", "a long text"],
)
def test_fault_320_a_text_that_cannot_be_read_is_called_out(path: str, old: str, new: str):
    """docs/faults.md 320: no test is hidden by a text that no parser reads. A text that was like that is no alarm."""
    assert list(find_weakenings([ChangedFile(path, path, old, new)])) == [path]
    assert find_weakenings([ChangedFile(path, path, new, new + "\n")]) == {}


def test_fault_320_a_workflow_of_aliases_of_aliases_takes_no_time():
    """docs/faults.md 320: the values of a file of settings are limited in number. What is not read is removed."""
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    path, old = ".github/workflows/ci.yml", "jobs: {test: {steps: [{run: pytest}]}}\n"
    new = f"a0: &a0 x\n{levels}{old}"
    assert list(find_weakenings([ChangedFile(path, path, old, new)])) == [path]
