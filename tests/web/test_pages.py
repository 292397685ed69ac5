"""What the model reads of a page (pages.yaml)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.web.page import read_page

Case = dict[str, Any]

CASES: dict[str, list[Case]] = yaml.safe_load(Path(__file__).with_name("pages.yaml").read_text("utf-8"))
URL = "https://example.com/docs/page.html"


def cases(*groups: str, field: str = "name") -> pytest.MarkDecorator:
    chosen = [each for group in groups for each in CASES[group] if field in each]
    return pytest.mark.parametrize("case", [pytest.param(each, id=each["name"]) for each in chosen])


def text_of(html: str) -> str:
    title, text = read_page(html.encode(), URL, "", is_html=True)
    return f"{title}\n{text}"


def check(case: Case, text: str) -> None:
    if "contains" in case:
        assert case["contains"] in text
    else:
        assert [line for line in text.split("\n") if line.strip()] == case["shows"]


@cases("hidden")
def test_text_that_a_reader_would_not_see_is_left_out(case: Case) -> None:
    """docs/faults.md 230: neither in the body of a page nor in its main part."""
    for html in (case["html"], f"<!doctype html><main><h1>Title</h1>{case['html']}</main>"):
        assert "SECRET" not in text_of(html)


@cases("hidden", field="control")
def test_similar_text_that_is_seen_is_read(case: Case) -> None:
    assert "seen" in text_of(case["control"])


@cases("characters", "readable")
def test_a_page_becomes_markdown(case: Case) -> None:
    """docs/faults.md 230: without invisible characters. Links are absolute, and nothing but text and links stays."""
    html = case["html"] + case.get("repeats", "") * case.get("times", 0) + case.get("after", "")
    check(case, read_page(html.encode(), URL, "", is_html=True)[1])


@cases("charsets")
def test_a_page_is_read_in_its_charset(case: Case) -> None:
    """docs/faults.md 231: what the server claims can only choose among the charsets of the web."""
    check(case, read_page(case["bytes"].encode("latin-1"), URL, case["charset"], is_html=True)[1])


def test_other_text_stays_as_it_is() -> None:
    """Only invisible characters are removed, and lines end with LF."""
    text = '{\n  "a": "<b>&amp;"\n}\n'
    given = text.replace("\n", "\r\n") + "\u202e"
    assert read_page(given.encode(), URL, "", is_html=False) == ("", text)


def test_the_title_is_one_line() -> None:
    html = "<title>\n A &amp; <b>\u200b </title><title>other</title>"
    assert read_page(html.encode(), URL, "", is_html=True)[0] == "A & <b>"
