"""`fairlead mcp login`: the browser comes back to the command, which saves the sign-in."""

import asyncio
import contextlib
import json
import re
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from cli.command import COMMAND, environment, in_terminal, run_plain
from fairlead.app.sign_in_file import SignInFile
from tool_servers.authorization import protected_server

SCRIPTED = Path(__file__).parents[1] / "tool_servers" / "scripted.py"
SAVED = Path("fairlead", "terminal", "sign-ins.json")


@contextlib.asynccontextmanager
async def login(config: Path, state: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *("mcp", "login", "far", "--config", str(config)),
        stdout=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
        env=environment(XDG_STATE_HOME=str(state)),
        cwd=config.parent,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="names the state folder")
async def test_a_sign_in(tmp_path: Path) -> None:
    """Only the user can read the file."""
    config, state = tmp_path / "config.json", tmp_path / "state"
    async with protected_server() as (remote, issuer):
        config.write_text(json.dumps({"mcpServers": {"far": {"url": remote.url}}}))
        async with login(config, state) as process:
            assert process.stdout is not None
            assert b"To sign in to far, open this address in a browser:" in await process.stdout.readline()
            url = (await process.stdout.readline()).decode().strip()
            back = await issuer.browse(url)
            async with httpx2.AsyncClient(trust_env=False) as browser:
                wrong = await browser.get(back.replace("/callback", "/other"))
                right = await browser.get(back)
            assert (wrong.status_code, right.status_code) == (404, 200)
            assert "You can close this page" in right.text
            assert await process.stdout.read() == b"You are signed in to far.\n"
            assert await process.wait() == 0
    assert stat.S_IMODE((state / SAVED).stat().st_mode) == 0o600
    [text] = SignInFile(state / SAVED).read().values()
    assert "access-" in text


@pytest.mark.skipif(sys.platform != "linux", reason="names the state folder")
async def test_an_address_that_is_pasted(tmp_path: Path) -> None:
    """For a browser on another machine, which cannot reach the page."""
    config, state = tmp_path / "config.json", tmp_path / "state"
    async with protected_server() as (remote, issuer):
        config.write_text(json.dumps({"mcpServers": {"far": {"url": remote.url}}}))
        arguments = ("mcp", "login", "far", "--config", config)
        with in_terminal(*arguments, columns=1000, XDG_STATE_HOME=str(state)) as terminal:
            await asyncio.to_thread(terminal.until, "paste the address at which it ends, and press Enter.")
            [url] = re.findall(r"http://\S+/authorize\S+", terminal.screen.text)
            terminal.press(f"{await issuer.browse(url)}\r")
            assert await asyncio.to_thread(terminal.end) == 0
            assert "You are signed in to far." in terminal.screen.text
        with in_terminal(*arguments, columns=1000, XDG_STATE_HOME=str(state)) as terminal:
            await asyncio.to_thread(terminal.until, "paste the address at which it ends, and press Enter.")
            terminal.press("\r")
            assert await asyncio.to_thread(terminal.end) == 1
            assert "You are not signed in to far: the sign-in was given up." in terminal.screen.text
    assert (state / SAVED).exists()


def test_a_server_that_does_not_exist(tmp_path: Path) -> None:
    ended = run_plain("mcp", "login", "far", cwd=tmp_path)
    assert (ended.code, ended.out) == (
        1,
        "There is no tool server called far that one can sign in to. Check its name.\n",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="names the state folder")
def test_values_are_entered(tmp_path: Path) -> None:
    """Secrets are not shown. The values hold for `mcp try`, which asks only for those that are missing."""
    config, state = tmp_path / "config.json", tmp_path / "state"
    command = {"command": sys.executable, "args": [str(SCRIPTED)], "env": {"KEY": "${input:key}"}, "sandbox": False}
    config.write_text(json.dumps({"mcpServers": {"files": command}}))
    with in_terminal("mcp", "login", "files", "--config", config, XDG_STATE_HOME=str(state)) as terminal:
        terminal.until("The tool server files needs a value:")
        terminal.until("Value:")
        terminal.press("se\x7fecret-1\r")
        assert terminal.end() == 0
        assert "Value: *" in terminal.screen.text
        assert "secret-1" not in terminal.screen.text
        assert "You are signed in to files." in terminal.screen.text
    [text] = SignInFile(state / SAVED).read().values()
    assert json.loads(text) == {"key": "secret-1"}
    shown = '{"command": "printenv KEY"}'
    with in_terminal(
        *("mcp", "try", "files", "run", shown, "--config", config), XDG_STATE_HOME=str(state), cwd=str(tmp_path)
    ) as terminal:
        terminal.until("Start it?")
        terminal.press("y")
        assert terminal.end() == 0
        assert "secret-1" in terminal.screen.text


def test_nobody_can_be_asked(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"mcpServers": {"files": {"command": "x", "args": ["${input:key}"]}}}))
    ended = run_plain("mcp", "login", "files", "--config", config, cwd=tmp_path)
    assert ended.code == 1
    assert "You are not signed in to files: It needs a value that was not entered: key." in ended.out


def test_help_without_a_command() -> None:
    ended = run_plain("mcp")
    assert ended.code == 2
    assert "login" in ended.out


def test_the_file_of_sign_ins(tmp_path: Path) -> None:
    file = SignInFile(tmp_path / "new" / "sign-ins.json")
    assert file.read() == {}
    file.change("a", "1")
    file.change("b", "2")
    file.change("a", None)
    assert file.read() == {"b": "2"}
    (tmp_path / "new" / "sign-ins.json").write_text("[")
    assert file.read() == {}
