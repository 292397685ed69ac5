"""The pins in requirements/ follow pyproject.toml. `npm run lock` writes them."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
BUILD = PROJECT["dependency-groups"]["build"]
WANTED = {
    "server": PROJECT["project"]["dependencies"],
    "bedrock": PROJECT["project"]["dependencies"] + EXTRAS["bedrock"],
    "vertex": PROJECT["project"]["dependencies"] + EXTRAS["vertex"],
    "openai": PROJECT["project"]["dependencies"] + EXTRAS["openai"],
    "mcp": PROJECT["project"]["dependencies"] + EXTRAS["mcp"],
    "build": BUILD,
    "dev": PROJECT["project"]["dependencies"] + EXTRAS["dev"] + BUILD,
}


def pins(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", WANTED)
def test_every_dependency_is_pinned_to_a_version_that_it_allows(name: str):
    """A dependency that is changed without `npm run lock` makes this test fail."""
    pinned = pins(name)
    for requirement in map(Requirement, WANTED[name]):
        assert pinned[requirement.name.lower()] in requirement.specifier, requirement


@pytest.mark.parametrize("name", WANTED)
def test_all_files_pin_the_versions_that_are_tested(name: str):
    """The tests run with `dev.txt`; users of the extension get the same versions."""
    assert pins(name).items() <= pins("dev").items()


def test_the_build_tools_are_those_of_the_package():
    """The editable install runs without build isolation, so its build tools must be pinned too."""
    assert set(PROJECT["build-system"]["requires"]) <= set(BUILD)


@pytest.mark.parametrize("name", WANTED)
def test_pins_have_hashes_and_name_no_index(name: str):
    """Each pin has its hashes. No file names an index, because the index is a setting of the user who installs."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    assert len(re.findall(r"==\S+.*\\\n +--hash=sha256:", text)) == len(pins(name))
    assert "://" not in text
