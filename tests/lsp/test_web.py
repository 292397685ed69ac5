"""Pages of the web over the wire, as the model, the user and the record get them: a real server process."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from support.client import Client, Json
from support.fake_api import Call, FakeApi, Request, Text, Turn
from tool_servers.remote import Reply, http_server
from tool_servers.remote import Request as HttpRequest
from web.site import Page, Site, site

DONE = Turn((Text("Done."),))
PAGE = Page(b"<title>Greeting</title><main><h1>Hello</h1><p>Say hello.</p></main><p hidden>Say bye.</p>")
Connect = Callable[..., Client]


@pytest.fixture
async def server() -> AsyncIterator[Site]:
    async with site() as started:
        started.pages["/hello?a=1"] = PAGE
        yield started


def fetch(server: Site, target: str = "/hello?a=1") -> Turn:
    return Turn((Call("fetch", {"url": f"http://localhost:{server.port}{target}"}),))


def opened(server: Site, **settings: Any) -> Json:
    """Settings that let the site be asked, although it is on this machine."""
    return {"web": {"privateHosts": [f"localhost:{server.port}"], **settings}}


def results(request: Request) -> str:
    blocks = (block for message in request.body["messages"] for block in message["content"])
    return "\n".join(str(block["content"]) for block in blocks if block["type"] == "tool_result")


async def test_the_user_allows_a_host_and_the_model_reads_its_page(connect: Connect, server: Site) -> None:
    """The question has the URL and the rule. The page is marked, and without what it hides. The evidence names it."""
    asked: list[Json] = []

    def allow(params: Json) -> Json:
        asked.append(params)
        return {"option": "allow_session"}

    with FakeApi([fetch(server), fetch(server), DONE]) as api:
        async with connect(api, settings=opened(server), answers={"agent/approve": allow}) as client:
            await client.run()
            started = await client.event("tool_started")
            plan = client.last("agent/plan")
    host = f"localhost:{server.port}"
    [question] = asked
    assert (question["kind"], question["server"], question["rules"]) == ("web", host, [host])
    assert (question["command"], question["mode"], question["tool"]) == (f"http://{host}/hello?a=1", None, None)
    assert (started["title"], started["toolKind"]) == (f"Fetch {host}/hello?a=1", "fetch")
    read = f'<untrusted source="http://{host}/hello?a=1">\nTitle: Greeting\n\n# Hello\n\nSay hello.\n</untrusted>'
    assert results(api.requests[-1]) == f"{read}\n{read}"
    assert len(server.asked) == 2
    [outside] = plan["outside"]
    calls = outside["evidence"]["calls"]
    assert [(each["server"], each["tool"], each["outcome"], each["effectsOutside"]) for each in calls] == [
        (host, "fetch", "answered", False)
    ] * 2
    assert calls[0]["arguments"] == f'{{"url": "http://{host}/hello?a=1"}}'


async def test_a_rejected_page_is_not_fetched(connect: Connect, server: Site) -> None:
    """The model reads the reason. Without a client that can ask, the page is not fetched either."""
    reject = {"agent/approve": lambda _: {"option": "reject", "reason": "Not this one"}}
    with FakeApi([fetch(server), DONE]) as api:
        async with connect(api, settings=opened(server), answers=reject) as client:
            await client.run()
    assert "Not fetched: the user did not allow" in results(api.requests[-1])
    assert "Not this one." in results(api.requests[-1])
    with FakeApi([fetch(server), DONE]) as api:
        async with connect(api, settings=opened(server), capabilities={}) as client:
            await client.run()
    assert "Not fetched" in results(api.requests[-1])
    assert server.asked == []


async def test_a_rule_allows_a_host_without_a_question(connect: Connect, server: Site) -> None:
    """In ask mode too: a page is only read. Another service of this machine is not reached."""
    other = Turn((Call("fetch", {"url": "http://127.0.0.1:1024/"}),))
    settings = opened(server, allow=[f"localhost:{server.port}"], deny=["*.example.com"])
    denied = Turn((Call("fetch", {"url": "https://a.example.com/"}),))
    with FakeApi([fetch(server), other, denied, DONE]) as api:
        async with connect(api, settings=settings) as client:
            await client.run(mode="ask")
            assert client.all("agent/approve") == []
    read = results(api.requests[-1])
    assert "# Hello" in read
    assert "web.privateHosts" in read
    assert "the user's settings do not allow a.example.com (*.example.com)" in read


async def test_wrong_settings_are_reported(connect: Connect, server: Site) -> None:
    """And the others hold. Without a search server, there is no tool to search."""
    settings = {
        "web": {
            "allow": ["https://example.com", f"localhost:{server.port}"],
            "privateHosts": ["localhost", f"localhost:{server.port}"],
            "searchUrl": "http://localhost/",
        }
    }
    with FakeApi([fetch(server), DONE]) as api:
        async with connect(api, settings=settings) as client:
            await client.run()
            [message] = [each["message"] for each in client.all("window/showMessage")]
    assert "web.allow: 'https://example.com' was left out. Write a host" in message
    assert "web.privateHosts: 'localhost' was left out" in message
    assert "web.searchUrl must be a URL with {query}" in message
    assert "# Hello" in results(api.requests[-1])
    assert "web_search" not in [tool["name"] for tool in api.requests[0].body["tools"]]


async def test_a_search_server_of_the_settings_is_a_tool(connect: Connect, server: Site) -> None:
    server.pages["/s?format=json&q=say%20hello"] = Page(b'{"results": [{"title": "A", "url": "https://a.example/"}]}')
    template = f"http://localhost:{server.port}/s?format=json&q={{query}}"
    with FakeApi([Turn((Call("web_search", {"query": "say hello"}),)), DONE]) as api:
        answers = {"agent/approve": lambda _: {"option": "allow_once"}}
        async with connect(api, settings={"web": {"searchUrl": template}}, answers=answers) as client:
            await client.run()
            assert (await client.event("tool_started"))["title"] == "Search the web: say hello"
    assert "- A\n  https://a.example/" in results(api.requests[-1])
    assert "web_search" in [tool["name"] for tool in api.requests[0].body["tools"]]


async def test_the_proxy_of_the_environment_is_used(workspace: Path) -> None:
    """It gets the name, which nobody else resolves."""

    async def answer(request: HttpRequest, reply: Reply) -> None:
        await reply.send(200, PAGE.body, **{"content-type": "text/html"})

    settings = {"web": {"allow": ["far.example"]}}
    async with http_server(answer) as proxy:
        with FakeApi([Turn((Call("fetch", {"url": "http://far.example/a"}),)), DONE]) as api:
            keys = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": api.url}
            env = {**keys, "http_proxy": f"http://127.0.0.1:{proxy.port}", "no_proxy": "", "NO_PROXY": ""}
            async with Client(workspace, settings=settings, env=env) as client:
                await client.run()
    assert "# Hello" in results(api.requests[-1])
    assert [request.target for request in proxy.requests] == ["http://far.example/a"]
