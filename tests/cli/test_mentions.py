"""`@path` and `@server:uri` in a task of the terminal."""

from pathlib import Path

import pytest

from fairlead.cli.mentions import mentioned
from fairlead.workspace.paths import Roots


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("Fix @src/a.py.", ["src/a.py"]),
        ("@src/a.py and @src/, then (@./src/a.py)", ["src/a.py", "src"]),
        ('Read @"my notes.md"!', ["my notes.md"]),
        ("Read @my notes.md", []),
        ("Ask me@src/a.py or x@example.com", []),
        ("Add @property to @staticmethod", []),
        ("@../outside.txt @/etc/passwd @. is not @", ["."]),
        ("@odd). but @odd)", ["odd)"]),
        ("@{} @\0 @".format("x" * 5000), []),
    ],
)
def test_only_what_exists_in_the_workspace_is_a_mention(tmp_path: Path, task: str, expected: list[str]) -> None:
    workspace = tmp_path / "ws"
    (workspace / "src").mkdir(parents=True)
    for name in ("src/a.py", "my notes.md", "odd)", "../outside.txt"):
        (workspace / name).write_text("x\n")
    uris = [(workspace / name).as_uri() if name != "." else workspace.as_uri() for name in expected]
    assert [item.get("uri") for item in mentioned(task, Roots.of(workspace), ["odd"])] == uris


def test_a_mention_that_begins_with_a_server_is_a_resource(tmp_path: Path) -> None:
    """The punctuation at the end belongs to the sentence, unless the mention is in quotation marks."""
    task = 'See (@wiki:page://1). @"wiki:page://a b." @wiki:page://1 @wiki: @other:page://1'
    assert mentioned(task, Roots.of(tmp_path), ["wiki", "wi"]) == [
        {"kind": "resource", "server": "wiki", "resource": "page://1"},
        {"kind": "resource", "server": "wiki", "resource": "page://a b."},
    ]
