"""Models that drift from their plan (tests/scenarios/plan): what the model reads, and what the user sees.

A scenario is a recording's `turns` (docs/replay.md) in a workspace with `a.txt` in it, every command allowed, and

    rule       what is guaranteed
    user       operations on the plan (docs/protocol.md, agent/plan/edit) while the agent's question waits for them
    feedback   how the texts for the model begin, in order: reminders, feedback on the plan, refused rewrites
    sees       each step's verification at the end
    record     the line at the end of the run
    inferred, beside, overtaken, revision, stops: only if they differ from the default (nothing inferred, no reads
               outside of steps, ...)
"""

from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.client import Client, Json

ABLE: Json = {"experimental": {"agent": {"approvals": True, "questions": True}}}
HOME = Path(__file__).parents[1] / "scenarios" / "plan"


def read_texts(client: Client) -> list[str]:
    """The reminders and the feedback that the model read, and the errors of refused `todo` calls, in order."""
    todos = {event["toolCallId"] for event in client.events("tool_started") if event["name"] == "todo"}
    return [
        event["text"]
        for event in client.events()
        if event["kind"] in ("reminder", "feedback")
        or (event["kind"] == "tool_finished" and event["isError"] and event["toolCallId"] in todos)
    ]


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in sorted(HOME.glob("*.yaml"))])
async def test_the_server_notices_that_a_model_drifts(path: Path, workspace: Path, replay: Callable[..., Json]) -> None:
    """docs/plan.md L5 to L8 and P13 to P15: the rule of the scenario holds, through the real server."""
    scenario: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    (workspace / "a.txt").write_text("one\n")

    async def answer(_: Json) -> Json:
        shown = client.last("agent/plan")
        params = {"sessionId": shown["sessionId"], "revision": shown["revision"], "ops": scenario["user"]}
        await client.request("agent/plan/edit", params)
        return {"answer": "Yes"}

    answers = {"agent/approve": lambda _: {"option": "allow_once"}, "agent/ask": answer}
    client = Client(workspace, settings=replay(*scenario["turns"]), capabilities=ABLE, answers=answers)
    async with client:
        result = await client.run()
        plan = client.last("agent/plan")
        texts = read_texts(client)
        assert [
            text[: len(begin)] for text, begin in zip_longest(texts, scenario["feedback"], fillvalue="")
        ] == scenario["feedback"]
        steps = {item["id"]: item["content"] for item in plan["items"]}
        assert {item["content"]: item["verification"] for item in plan["items"]} == scenario["sees"]
        assert plan["inferred"] == scenario.get("inferred", [])
        assert sum(place["evidence"]["looks"] for place in plan["outside"]) == scenario.get("beside", 0)
        assert result["stopReason"] == scenario.get("stops", "end_turn")
        assert plan["revision"] == scenario.get("revision", plan["revision"])
        files = (client.last("agent/edits") or {"files": []})["files"]
        overtaken = {steps[one["itemId"]]: steps[one["byItemId"]] for file in files for one in file["overtaken"]}
        assert overtaken == scenario.get("overtaken", {})
        assert result["record"] == scenario["record"]
