"""Attacks from the web as data (attacks.yaml), each with a control: a similar page that is fetched."""

import asyncio
import gzip
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from fairlead.errors import ToolError
from fairlead.tools.web_context import MAX_READ_AT_ONCE
from tools.stand_ins import ScriptedUser
from web.site import ELSEWHERE, Names, Page, Visitor, site

Attack = dict[str, Any]

ATTACKS: dict[str, list[Attack]] = yaml.safe_load(Path(__file__).with_name("attacks.yaml").read_text("utf-8"))
HELLO = Page(b"<p>Hello.")


def attacks(group: str, field: str = "name") -> pytest.MarkDecorator:
    """The attacks of a group that have a field."""
    chosen = [each for each in ATTACKS[group] if field in each]
    return pytest.mark.parametrize("attack", [pytest.param(each, id=each["name"]) for each in chosen])


async def refusal(visitor: Visitor, attack: Attack, url: str) -> str:
    """Why a page is not fetched, which is as the attack says."""
    with pytest.raises(ToolError) as raised:
        await visitor.fetch(url)
    said = str(raised.value)
    wanted = attack["says"].replace("{port}", str(visitor.site.port))
    assert any(part in said for part in wanted.split("|")), said
    return said


@attacks("urls")
async def test_a_url_that_leads_elsewhere_than_it_seems_is_refused_before_anything_is_sent(attack: Attack) -> None:
    """docs/faults.md 225: neither the site nor the name server learns of it, and the user is not asked."""
    async with site() as server:
        visitor = Visitor(server)
        await refusal(visitor, attack, attack["url"])
        assert (server.asked, visitor.names.asked, visitor.user.asked) == ([], [], [])


@attacks("urls", "harmless")
async def test_a_similar_harmless_url_is_fetched(attack: Attack) -> None:
    async with site() as server:
        url = attack["harmless"].replace("{port}", str(server.port))
        server.pages["/" + url.split("/", 3)[3]] = HELLO
        assert "Hello." in await Visitor(server).fetch(url)


@attacks("names")
async def test_a_name_that_leads_to_a_forbidden_address_is_refused(attack: Attack) -> None:
    """docs/faults.md 226: every address of a name is checked, and nothing is sent if one of them is forbidden."""
    async with site() as server:
        server.pages["/"] = HELLO
        visitor = Visitor(server, names=Names({"evil.example": attack["addresses"]}))
        await refusal(visitor, attack, "http://evil.example:{port}/")
        assert server.asked == []


async def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    """docs/faults.md 226: a name that leads elsewhere at the second question is asked for only once."""
    async with site() as server:
        server.pages["/"] = HELLO
        names = Names({"a.example": [["127.0.0.1"], [ELSEWHERE], []]})
        visitor = Visitor(server, names=names)
        assert "Hello." in await visitor.fetch("http://a.example:{port}/")
        assert names.asked == ["a.example"]
        assert server.asked == [f"a.example:{server.port}/"]


async def test_another_checked_address_is_tried_if_one_is_not_reached() -> None:
    """The next one that the name server has named, in its order. The name is not resolved again."""
    async with site() as server:
        server.pages["/"] = HELLO
        names = Names({"a.example": [["::1", "127.0.0.1"]]})
        assert "Hello." in await Visitor(server, names=names).fetch("http://a.example:{port}/")
        assert names.asked == ["a.example"]


async def test_a_name_is_resolved_only_after_the_user_has_allowed_it() -> None:
    """docs/faults.md 226: a question to a name server carries the name to whoever owns it."""
    async with site() as server:
        visitor = Visitor(server, ScriptedUser("reject"))
        with pytest.raises(ToolError, match=r"did not allow a\.example"):
            await visitor.fetch("http://a.example:{port}/")
        assert (visitor.names.asked, server.asked) == ([], [])


@attacks("redirects")
async def test_a_redirect_is_checked_as_a_url_of_its_own(attack: Attack) -> None:
    """docs/faults.md 227: nothing is sent to where it leads."""
    async with site() as server:
        server.pages["/start"] = Page(
            status=302, headers={"location": attack["to"].replace("{port}", str(server.port))}
        )
        visitor = Visitor(server)
        await refusal(visitor, attack, "http://a.example:{port}/start")
        assert set(server.asked) == {f"a.example:{server.port}/start"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_harmless_redirect_is_followed_and_asked(status: int) -> None:
    """docs/faults.md 227: another host is another question, and the result names the page that answered. No cookies."""
    async with site() as server:
        server.pages["/start"] = Page(
            status=status,
            headers={"location": f"//b.example:{server.port}/end#part", "set-cookie": "secret=1; Domain=example"},
        )
        server.pages["/end"] = HELLO
        visitor = Visitor(server)
        found = await visitor.fetch("http://a.example:{port}/start")
        assert found == f'<untrusted source="http://b.example:{server.port}/end">\nHello.\n</untrusted>'
        hosts = [f"a.example:{server.port}", f"b.example:{server.port}"]
        assert [request.rules for request in visitor.user.asked] == [(host,) for host in hosts]
        assert visitor.user.asked[1].reasons[0] == "Another page redirects to it."


@attacks("answers")
async def test_an_answer_that_cannot_be_read_is_an_error(attack: Attack) -> None:
    """docs/faults.md 228: neither the memory nor the time of the machine is used up, and the model reads why."""
    if "grows" in attack and sys.platform != "linux":
        pytest.skip("only Linux limits the memory of a program; its time is limited everywhere")
    async with site() as server:
        server.pages["/"] = page_of(attack)
        said = await refusal(Visitor(server), attack, "http://a.example:{port}/")
        assert len(said) < 1000
        assert "</untrusted>" not in said.removesuffix("</untrusted>")


async def test_a_compressed_page_is_read() -> None:
    """docs/faults.md 228: the control."""
    async with site() as server:
        server.pages["/"] = Page(gzip.compress(HELLO.body), headers={"content-encoding": "gzip"})
        assert "Hello." in await Visitor(server).fetch("http://a.example:{port}/")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(Page(raw=b"", holds=True), id="no head"),
        pytest.param(Page(raw=b"HTTP/1.1 200 OK\r\nx: ", drips=True), id="a head byte by byte"),
        pytest.param(Page(b"<p>Hel", holds=True), id="half a body"),
        pytest.param(Page(b"<p>Hel", drips=True), id="a body byte by byte"),
    ],
)
async def test_a_server_that_does_not_end_is_left(page: Page) -> None:
    """docs/faults.md 229: the time for all of an answer is limited."""
    async with site() as server:
        server.pages["/"] = page
        with pytest.raises(ToolError, match="did not answer within 1 s"):
            await Visitor(server, seconds=1).fetch("http://a.example:{port}/")


async def test_a_stop_ends_the_program_that_reads_a_page() -> None:
    """docs/faults.md 228: no process is left."""
    heavy = next(each for each in ATTACKS["answers"] if "grows" in each)
    async with site() as server:
        server.pages["/"] = page_of(heavy)
        reading = asyncio.create_task(Visitor(server).fetch("http://a.example:{port}/"))
        while not readers():  # noqa: ASYNC110  nothing says that a process has started
            await asyncio.sleep(0.01)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert readers() == []


async def test_few_pages_are_read_at_the_same_time() -> None:
    """docs/faults.md 265: pages that subagents fetch at once share the memory that reading may take."""
    async with site() as server:
        urls = [f"/{number}" for number in range(5)]
        server.pages.update({url: Page(b"<p>Hello." * 10_000) for url in urls})
        visitor = Visitor(server)
        reading = asyncio.gather(*(visitor.fetch(f"http://a.example:{{port}}{url}") for url in urls))
        most = 0
        while not reading.done():
            most = max(most, len(readers()))
            await asyncio.sleep(0.01)
        assert all("Hello." in text for text in await reading)
        assert 0 < most <= MAX_READ_AT_ONCE


def readers() -> list[psutil.Process]:
    """The processes of this one that read pages."""
    return [
        each for each in psutil.Process().children() if any("fairlead.web.page" in part for part in arguments(each))
    ]


def arguments(process: psutil.Process) -> list[str]:
    """The command line of a process; empty if it has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # or a zombie
        return []


def page_of(attack: Attack) -> Page:
    data = attack.get("bytes", "").encode("latin-1")
    times = attack.get("times", 1)
    headers = dict(attack.get("headers", {}))
    if "grows" in attack:  # each paragraph repeats all of these elements
        count = attack["grows"]
        data = b"<p>" + b"".join(b"<font size=%d>" % n for n in range(count)) + b"</p>" + b"<p>x</p>" * count
    body = data * times
    if attack.get("encoding") == "gzip":
        body = gzip.compress(body)
        headers["content-encoding"] = "gzip"
    raw = attack["head"].encode() + body if "head" in attack else None
    return Page(body, attack.get("status", 200), headers, raw, endless=data * 10_000 if times == 0 else b"")
