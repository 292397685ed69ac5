"""Real tool servers in the box, installed from npm and PyPI without running their scripts."""

import contextlib
import http.server
import re
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import ToolError
from fairlead.shell.network import Service
from fairlead.tool_servers.definition import Definition, Folder
from tool_servers.world import User, World, world

FILESYSTEM = "@modelcontextprotocol/server-filesystem@2026.8.31"
MEMORY = "@modelcontextprotocol/server-memory@2026.8.31"
THINKING = "@modelcontextprotocol/server-sequential-thinking@2026.8.31"
EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"
GIT = "mcp-server-git@2026.10.19"
FETCH = "mcp-server-fetch@2026.10.24"
SQLITE = "mcp-server-sqlite@2025.4.25"
PLAYWRIGHT = "@playwright/mcp@0.0.83"


@contextlib.asynccontextmanager
async def running(
    packages: Path, *command: str, user: User | None = None, paths: tuple[str, ...] = (), **fields: Any
) -> AsyncIterator[World]:
    """A session with one server, `s`, which the user allows to be installed."""
    async with world(paths=paths, user=user or User("allow_once"), packages=packages) as found:
        found.define(Definition("s", command, **fields))
        await found.session.tool_servers.prepare()
        [status] = found.session.tool_servers.statuses()
        assert status.state == "running", (status.problem, status.output)
        yield found


async def test_filesystem(packages: Path) -> None:
    async with running(packages, "npx", "-y", FILESYSTEM, "${workspaceFolder}", paths=("a.txt",)) as found:
        await found.boxed.call("write_file", path="a.txt", content="one\ntwo\n")
        assert "one" in await found.call("s__read_text_file", path=str(found.folder / "a.txt"))
        edit = {"oldText": "two", "newText": "three"}
        said = await found.call("s__edit_file", path=str(found.folder / "a.txt"), edits=[edit])
        assert "Proposed for review: a.txt (+1 -1)." in said
        await found.call("s__write_file", path=str(found.folder / "d.txt"), content="new\n")
        await found.call("s__move_file", source=str(found.folder / "d.txt"), destination=str(found.folder / "e.txt"))
        assert found.proposals == {"a.txt": "one\nthree\n", "e.txt": "new\n"}
        assert (found.folder / "a.txt").read_text() == "a.txt\n"
        with pytest.raises(ToolError, match="Access denied"):
            await found.call("s__read_text_file", path="/etc/passwd")
        await found.boxed.accept()
        assert (found.folder / "a.txt").read_text() == "one\nthree\n"


async def test_memory_keeps_what_it_knows(packages: Path) -> None:
    """In its own folder, over a restart."""
    variables = (("MEMORY_FILE_PATH", "${serverData}/memory.jsonl"),)
    entity = {"name": "Fairlead", "entityType": "agent", "observations": ["reviews"]}
    async with running(packages, "npx", "-y", MEMORY, variables=variables) as found:
        await found.call("s__create_entities", entities=[entity])
        await found.session.tool_servers.restart("s")
        assert "reviews" in await found.call("s__read_graph")
        await found.call("s__delete_entities", entityNames=["Fairlead"])
        assert found.proposals == {}


async def test_sequential_thinking(packages: Path) -> None:
    async with running(packages, "npx", "-y", THINKING) as found:
        thought = {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
        assert '"thoughtHistoryLength": 1' in await found.call("s__sequentialthinking", **thought)


async def test_everything(packages: Path) -> None:
    """Pictures, structured results, progress, links, a form, prompts, and resources of a list and of a template."""
    user = User("allow_once", said=["Ann", "Leave Out", *["Decline"] * 20])
    async with running(packages, "npx", "-y", EVERYTHING, user=user) as found:
        assert "Echo: hi" in await found.call("s__echo", message="hi")
        await found.call("s__get-tiny-image")
        assert found.last is not None
        assert [image.media_type for image in found.last.images] == ["image/png"]
        assert "humidity" in await found.call("s__get-structured-content", location="Chicago")
        assert "completed" in await found.call("s__trigger-long-running-operation", duration=1, steps=2)
        assert found.output == ["1 of 2\n", "2 of 2\n"]
        assert "(A link to" in await found.call("s__get-resource-links", count=2)
        servers = found.session.tool_servers
        [offer] = await servers.offers()
        assert "args-prompt" in [prompt.name for prompt in offer.prompts]
        assert "Bonn" in (await servers.prompt("s", "args-prompt", {"city": "Bonn"})).text
        assert "Everything Server" in (await servers.read("s", offer.resources[0].uri)).text
        assert "Resource 7" in (await servers.read("s", "demo://resource/dynamic/text/7")).text


async def test_git(packages: Path) -> None:
    """It sees the proposals; its commit exists for it alone, and the model learns that it is discarded."""
    async with running(packages, "uvx", GIT, paths=("a.txt",)) as found:
        init = "git init -q . && git add . && git -c user.name=n -c user.email=e commit -qm first"
        subprocess.run(init, shell=True, check=True, cwd=found.folder)
        await found.session.tool_servers.restart("s")
        await found.boxed.call("write_file", path="a.txt", content="proposed\n")
        repository = str(found.folder)
        assert "+proposed" in await found.call("s__git_diff_unstaged", repo_path=repository)
        await found.call("s__git_add", repo_path=repository, files=["a.txt"])
        said = await found.call("s__git_commit", repo_path=repository, message="second")
        assert "(.git) is discarded" in said
        log = subprocess.run(["git", "log", "--oneline"], capture_output=True, text=True, check=True, cwd=found.folder)
        assert "second" not in log.stdout


async def test_a_database(packages: Path) -> None:
    """A file of the workspace that is no text, proposed as a whole."""
    async with running(packages, "uvx", "--with", "mcp<2", SQLITE, "--db-path", "${workspaceFolder}/data.db") as found:
        await found.call("s__create_table", query="CREATE TABLE t (name TEXT)")
        await found.call("s__write_query", query="INSERT INTO t VALUES ('Ann')")
        assert "Ann" in await found.call("s__read_query", query="SELECT * FROM t")
        assert list(found.proposals) == ["data.db"]
        assert not (found.folder / "data.db").exists()


@contextlib.contextmanager
def page(text: str) -> Iterator[int]:
    """A web server on this machine; yields its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = text.encode() if self.path == "/" else b""
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_fetch_reaches_only_the_hosts_that_the_user_named(packages: Path) -> None:
    """Each call can have effects outside, so it asks."""
    user = User("allow_once", "allow_session")
    with page("<p>Hello from outside</p>") as port, page("<p>secret</p>") as other:
        hosts = (Service("localhost", port),)
        async with running(
            packages, "uvx", FETCH, "--ignore-robots-txt", "--allow-private-ips", hosts=hosts, user=user
        ) as found:
            assert "Hello from outside" in await found.call("s__fetch", url=f"http://localhost:{port}/", raw=True)
            assert user.asked[-1].reasons[-1].startswith("It can have effects outside")
            with pytest.raises(ToolError, match="Error executing tool fetch"):
                await found.call("s__fetch", url=f"http://localhost:{other}/", raw=True)


def find_browser(packages: Path) -> tuple[Path, dict[str, str]]:
    """A browser with its variables: an installed one, or that of the editor's tests. Skips the test without one."""
    for name in ("google-chrome", "chromium"):
        if installed := shutil.which(name):
            return Path(installed).resolve(), {}
    packaged = next(packages.parents[1].glob("chromium-*/chromium"), None)
    if packaged is None:
        pytest.skip("there is no browser; the tests of the editor install one")
    libraries = subprocess.run(["ldd", packaged], check=True, capture_output=True, text=True).stdout
    own = {"FONTCONFIG_PATH": str(packaged.parent), "LD_LIBRARY_PATH": str(packaged.parent / "lib")}
    return packaged, own if "not found" in libraries else {}


async def test_a_browser(packages: Path) -> None:
    """It runs in the box with the server, and reaches only the hosts that the user named."""
    browser, variables = find_browser(packages)
    options = "--headless", "--isolated", "--no-sandbox", "--output-dir", "/tmp/pages", "--executable-path"
    button = "<button onclick=\"this.textContent = 'pressed'\">press</button>"
    with page(f"<title>T</title>{button}") as port, page("secret") as other:
        async with running(
            packages,
            *("npx", "-y", PLAYWRIGHT, *options, str(browser)),
            hosts=(Service("localhost", port),),
            folders=(Folder(str(browser.parent)),),
            variables=tuple(variables.items()),
            user=User("allow_once", "allow_session"),
        ) as found:
            assert "Page Title: T" in await found.call("s__browser_navigate", url=f"http://localhost:{port}/")
            shown = await found.call("s__browser_snapshot")
            [target] = re.findall(r'button "press" \[ref=(\w+)\]', shown)
            await found.call("s__browser_click", target=target, element="the button")
            assert 'button "pressed"' in await found.call("s__browser_snapshot")
            await found.call("s__browser_take_screenshot", type="png", scale="css")
            assert found.last is not None
            assert [image.media_type for image in found.last.images] == ["image/png"]
            with pytest.raises(ToolError, match="net::ERR_"):
                await found.call("s__browser_navigate", url=f"http://localhost:{other}/")
            assert found.proposals == {}
