"""Runs `fairlead run --json`, and checks every line with the published schema."""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from cli.command import run_plain

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "run-json.schema.json"

Json = dict[str, Any]


@dataclass(frozen=True)
class JsonRun:
    """A run that has ended."""

    code: int
    lines: Sequence[Json]
    err: str

    @property
    def outcome(self) -> Json:
        """The last line."""
        return self.lines[-1]

    def of(self, kind: str) -> list[Json]:
        """The lines of a type."""
        return [line for line in self.lines if line["type"] == kind]

    def events(self, kind: str) -> list[Json]:
        """The events of a kind."""
        return [line["event"] for line in self.of("event") if line["event"]["kind"] == kind]


def run_json(task: str, *arguments: object, spawned: bool = False, **given: Any) -> JsonRun:
    """Runs a task without a terminal, and checks all lines."""
    ended = run_plain("run", task, "--json", *arguments, spawned=spawned, **given)
    return JsonRun(ended.code, read_lines(ended.out, ended.code), ended.err)


def read_lines(out: str, code: int) -> list[Json]:
    """The lines of a run. Checks each with the schema, the first and the last one, and the exit code."""
    assert out.isascii() and out.endswith("\n"), out[-200:]
    lines = [json.loads(line) for line in out.removesuffix("\n").split("\n")]
    for line in lines:
        errors = [f"{error.json_path}: {error.message}" for error in strict_validator(line["type"]).iter_errors(line)]
        assert errors == []
    outcome = lines[-1]
    assert (outcome["type"], outcome["exitCode"]) == ("outcome", code)
    kinds = [line["type"] for line in lines]
    assert kinds.count("outcome") == 1
    assert kinds.count("start") == (outcome["sessionId"] is not None)
    if "start" in kinds:
        assert kinds[0] == "start"
        assert lines[0]["sessionId"] == outcome["sessionId"]
    return lines


@cache
def schema() -> Json:
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


@cache
def strict_validator(kind: str) -> Draft202012Validator:
    """Checks lines of a type. In contrast to the published schema, it allows no further fields."""
    whole = copy.deepcopy(schema())
    for definition in whole["$defs"].values():
        if "properties" in definition:
            definition["additionalProperties"] = False
    [name] = [
        name
        for name, definition in whole["$defs"].items()
        if definition.get("properties", {}).get("type", {}).get("enum") == [kind]
    ]
    return Draft202012Validator({**whole, "$ref": f"#/$defs/{name}"})
