"""The models that a client offers, chooses for a session and tries: a real server, and servers that list models."""

from pathlib import Path
from typing import Any

from support.calls import bash
from support.client import Client
from support.fake_api import FakeApi, Text, Turn
from support.fake_models import FakeModels
from support.fake_openai import FakeOpenAi

LIST = {"data": [{"id": "small", "max_model_len": 4096}, {"id": "large"}]}


def work(url: str, **fields: Any) -> dict[str, Any]:
    """Settings with an endpoint of the user's own."""
    return {"endpoints": {"work": {"title": "Work", "baseUrl": url, "keyVariable": "WORK_KEY", **fields}}}


def by_name(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {endpoint["name"]: endpoint for endpoint in result["endpoints"]}


async def test_the_models_of_each_endpoint_are_listed(workspace: Path) -> None:
    """Those of a server with its facts, those of the settings, and those that need a key. The one in use is first."""
    facts = {"large": {"contextTokens": 9000, "inputPrice": 1, "outputPrice": 2, "efforts": ["low"]}}
    with FakeModels(LIST, key="k") as server:
        settings = {**work(server.url, api="chat", models=facts), "endpoint": "work", "model": "small"}
        async with Client(workspace, settings=settings, env={"WORK_KEY": "k"}) as client:
            result = await client.request("agent/models", {})
            assert result["chosen"] == {"endpoint": "work", "model": "small", "effort": ""}
            assert result["endpoints"][0] == {
                "name": "work",
                "title": "Work",
                "local": True,
                "needsKey": False,
                "keyRefusal": "",
                "problem": "",
                "answers": True,
                "models": [
                    model("large", contextTokens=9000, inputPrice=1.0, outputPrice=2.0, efforts=["low"]),
                    model("small", contextTokens=4096),
                ],
            }
            openai = by_name(result)["openai"]
            assert (openai["needsKey"], openai["problem"]) == (True, "")
            assert model("gpt-6.1-sol", contextTokens=200_000, inputPrice=2.0, outputPrice=10.0) in openai["models"]
            assert "bedrock" not in by_name(result) and "azure" not in by_name(result)
            await client.request("agent/models", {})
            assert len(server.requests) == 1
            await client.request("agent/models", {"refresh": True})
            assert len(server.requests) == 2


async def test_only_the_servers_that_may_be_asked_are_asked(workspace: Path) -> None:
    """Of the others, the answer has the models that are known: from the settings, and from an earlier answer."""
    with FakeModels(LIST) as one, FakeModels(LIST) as other:
        endpoints = {**work(one.url, api="chat")["endpoints"], "home": {"baseUrl": other.url, "api": "chat"}}
        endpoints["home"]["models"] = {"large": {}}
        async with Client(workspace, settings={"endpoints": endpoints}) as client:

            async def listed(**params: Any) -> list[list[str]]:
                found = by_name(await client.request("agent/models", params))
                return [[each["name"] for each in found[name]["models"]] for name in ("work", "home")]

            assert await listed(ask=[]) == [[], ["large"]]
            assert await listed(ask=["work"]) == [["small", "large"], ["large"]]
            assert await listed(ask=[]) == [["small", "large"], ["large"]]
            assert (len(one.requests), len(other.requests)) == (1, 0)


def model(name: str, **known: Any) -> dict[str, Any]:
    unknown = {"contextTokens": None, "inputPrice": None, "outputPrice": None, "tools": None, "efforts": []}
    return {"name": name, "title": name, **unknown, **known}


async def test_a_server_that_cannot_be_asked_is_a_row_with_the_reason(workspace: Path) -> None:
    """The others are listed all the same, and a saved key helps at once."""
    with FakeModels(LIST, key="k") as server:
        async with Client(workspace, settings=work(server.url, api="chat")) as client:
            refused = by_name(await client.request("agent/models", {}))["work"]
            assert "“Agent: Set API Key” or WORK_KEY" in refused["problem"] and refused["models"] == []
            assert refused["needsKey"] and refused["keyRefusal"] == ""
            await client.request("agent/credentials", {"keys": {"work": "wrong"}})
            refused = by_name(await client.request("agent/models", {}))["work"]
            assert not refused["needsKey"] and refused["problem"].startswith("The API key was refused.")
            assert refused["answers"] and refused["keyRefusal"].startswith("401: ")
            await client.request("agent/credentials", {"keys": {"work": "a key"}})
            refused = by_name(await client.request("agent/models", {}))["work"]
            assert refused["keyRefusal"] == "It contains invalid characters."
            await client.request("agent/credentials", {"keys": {"work": "k"}})
            listed = by_name(await client.request("agent/models", {}))["work"]
            assert (listed["problem"], [each["name"] for each in listed["models"]]) == ("", ["small", "large"])
            assert listed["keyRefusal"] == ""


async def test_a_session_asks_the_model_that_was_chosen_for_it(workspace: Path, storage: Path) -> None:
    """The choice is saved with the session. Other sessions, and the settings, stay as they are."""
    turns = [Turn((Text("ok"),)) for _ in range(4)]
    with FakeApi(turns, key="a") as first, FakeApi(turns, key="w") as second:
        env = {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_BASE_URL": first.url, "WORK_KEY": "w"}
        settings = {**work(second.url, api="messages"), "model": "claude-x"}
        async with Client(workspace, settings=settings, env=env, storage=storage) as client:
            session = (await client.run())["sessionId"]
            choice = {"endpoint": "work", "model": "small", "effort": "low"}
            assert await client.request("agent/models/choose", {**choice, "sessionId": session}) == choice
            opened = await client.request("agent/sessions/open", {"sessionId": session})
            assert opened["model"] == choice
            await client.run(sessionId=session)
            await client.run()
            assert [request.body["model"] for request in first.requests] == ["claude-x", "claude-x"]
            assert [request.body["model"] for request in second.requests] == ["small"]
            assert second.requests[0].body["output_config"] == {"effort": "low"}
            recent = (await client.request("agent/models", {}))["recent"]
            assert recent == [choice]
        async with Client(workspace, settings=settings, env=env, storage=storage) as client:
            rows = (await client.request("agent/sessions/list", {}))["sessions"]
            assert [row["model"] for row in rows if row["sessionId"] == session] == [choice]
            await client.run(sessionId=session)
            assert second.requests[-1].body["model"] == "small"
            follow = await client.request("agent/models/choose", {"sessionId": session})
            assert follow == {"endpoint": "anthropic", "model": "claude-x", "effort": ""}
            await client.run(sessionId=session)
            assert first.requests[-1].body["model"] == "claude-x"


async def test_the_models_own_effort_can_be_chosen_in_place_of_that_of_the_settings(workspace: Path) -> None:
    """An empty effort is the model's default. One that is left out is that of the settings."""
    with FakeApi([Turn((Text("ok"),)) for _ in range(2)], key="w") as api:
        settings = {**work(api.url, api="messages"), "endpoint": "work", "model": "m", "effort": "high"}
        async with Client(workspace, settings=settings, env={"WORK_KEY": "w"}) as client:
            session = (await client.run())["sessionId"]
            choice = {"endpoint": "work", "model": "m", "effort": ""}
            assert await client.request("agent/models/choose", {**choice, "sessionId": session}) == choice
            await client.run(sessionId=session)
            assert [request.body.get("output_config") for request in api.requests] == [{"effort": "high"}, None]
            by_default = await client.request("agent/models/choose", {"endpoint": "work", "model": "m"})
            assert by_default["effort"] == "high"


async def test_an_endpoint_that_does_not_exist_is_refused(workspace: Path) -> None:
    """The error names those that exist. A session is needed only to change one."""
    async with Client(workspace, settings=work("http://127.0.0.1:9")) as client:
        for method in ("agent/models/choose", "agent/models/try"):
            error = await client.error(method, {"endpoint": "wrok"})
            assert error.code == -32602 and "openai" in error.message and "work" in error.message
        assert (await client.error("agent/models/choose", {"model": "m" * 201})).code == -32602
        assert await client.request("agent/models/choose", {"endpoint": "openai"}) == {
            "endpoint": "openai",
            "model": "gpt-6.1-sol",
            "effort": "",
        }


async def test_another_model_than_the_current_one_can_be_tried(workspace: Path) -> None:
    """One sentence says whether it works, or why not."""
    with FakeApi([Turn((Text("OK"),))], key="w") as api:
        async with Client(workspace, settings=work(api.url, api="messages"), env={"WORK_KEY": "w"}) as client:
            tried = await client.request("agent/models/try", {"endpoint": "work", "model": "small"})
            assert (tried["model"], tried["works"]) == ("small", True)
            tried = await client.request("agent/models/try", {"endpoint": "work"})
            assert not tried["works"] and "has no list of models" in tried["message"]
            tried = await client.request("agent/models/try", {"endpoint": "mistral", "model": "m"})
            assert not tried["works"] and "MISTRAL_API_KEY" in tried["message"]


async def test_the_only_model_of_an_own_endpoint_needs_no_name(workspace: Path) -> None:
    """Also if the settings say which API it has."""
    with FakeOpenAi([Turn((Text("Done."),))], require_key=False, models=[{"id": "only"}]) as api:
        endpoints = {"box": {"baseUrl": api.base_url, "api": "chat"}}
        async with Client(workspace, settings={"endpoints": endpoints, "endpoint": "box"}) as client:
            assert (await client.run())["message"] == "Done."
        assert api.requests[-1].body["model"] == "only"


async def test_fault_40_a_commands_environment_has_no_key_that_the_settings_name(workspace: Path, replay: Any) -> None:
    """docs/faults.md 40: neither inside nor outside of the sandbox, whatever `bash.passVariables` says."""
    calls = [bash("env"), bash("env", unsandboxed=True)]
    rules = {"passVariables": ["WORK_*", "OPENAI_*", "SHOP_*"], "allow": ["env"]}
    settings = {**replay({"calls": calls}, {"text": "Done."}), **work("http://127.0.0.1:9"), "bash": rules}
    env = {"WORK_KEY": "plain-1", "OPENAI_API_KEY": "plain-2", "OPENAI_BASE_URL": "http://plain-3", "SHOP_ENV": "test"}
    async with Client(workspace, settings=settings, env=env) as client:
        client.answers["agent/approve"] = lambda _: {"option": "allow_once"}
        await client.run()
        output = "".join(event["text"] for event in client.events("tool_output"))
        assert output.count("SHOP_ENV=test") == 2 and "plain-" not in output
