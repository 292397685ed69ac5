"""What a box shows of the tools in the user's home: programs and libraries, but no credentials."""

import os
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from fairlead.shell.sandbox.box import mounts
from fairlead.shell.sandbox.box.tools import find_tools
from shell.boxes import BACKENDS, boxes, is_installed, write
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


CREDENTIALS = (
    *(".local/share/uv/credentials/x.json", ".local/share/uv/tools/ruff/uv-receipt.toml", ".local/share/pnpm/rc"),
    *(
        ".local/share/mise/config.toml",
        ".local/share/mise/installs/node/22/etc/npmrc",
        ".conda/aau_token",
        ".conda/x/y",
    ),
    *("miniconda3/.condarc", "miniconda3/etc/conda/x", "miniconda3/envs/a/pip.conf", ".dotnet/corefx/cryptography/k"),
    *(".dotnet/NuGet.Config", ".sdkman/etc/config", ".sdkman/candidates/maven/3/conf/settings.xml", ".rvm/user/db"),
    *(".pyenv/.git/config", ".pyenv/plugins/p/.git/config", ".pyenv/versions/3.12/pip.conf", ".nvm/.cache/x"),
    *(".nvm/versions/node/v22/etc/npmrc", ".rbenv/plugins/p/token", ".asdf/plugins/p/.git/config", ".volta/hooks.json"),
    *(
        ".asdf/installs/nodejs/22/etc/npmrc",
        ".deno/credentials",
        ".bun/install/cache/x",
        ".bun/.npmrc",
        ".rustup/token",
    ),
    *(".cargo/credentials.toml", ".cargo/config.toml", ".gem/credentials", ".m2/settings.xml", ".nuget/NuGet/x"),
    *(".gradle/gradle.properties", ".config/pypoetry/auth.toml", ".config/pip/pip.conf", ".virtualenvs/a/pip.conf"),
    *(
        ".local/share/virtualenvs/a/.env",
        ".local/share/pipx/venvs/b/pipx_metadata.json",
        "go/pkg/mod/cache/vcs/x/config",
    ),
    *(".cache/ms-playwright/mcp-chrome-1a2b3c/Default/Cookies", ".cache/ms-playwright/.links/x", ".config/mise/x.toml"),
    *(".cache/pre-commit/db.db", ".cache/node/corepack/x", ".cache/puppeteer/x", ".local/share/pypoetry/auth.toml"),
    *(".local/share/pdm/venvs/a/pip.conf", ".local/share/hatch/env/virtual/a/b/c/pip.conf", ".yarn/berry/x"),
    *(".opam/config", ".ghcup/config.yaml", ".juliaup/x", ".config/git/credentials", ".goenv/x", "scripts/token.txt"),
)
PROGRAMS = (
    *(".local/share/uv/python/cpython-3.12/bin/python", ".local/share/uv/tools/ruff/bin/ruff", ".local/bin/uv"),
    *(".local/share/pnpm/global/5/node_modules/a/x.js", ".local/share/mise/installs/node/22/bin/node"),
    *(
        ".local/share/mise/shims/node",
        "miniconda3/bin/python",
        "miniconda3/envs/a/lib/x.py",
        "miniconda3/ssl/cacert.pem",
    ),
    *(".dotnet/sdk/9/x.dll", ".sdkman/candidates/java/21/conf/security/java.security", ".rvm/rubies/3/lib/x.rb"),
    *(".sdkman/candidates/maven/3/boot/x.jar", ".pyenv/shims/python", ".pyenv/versions/3.12/lib/x.py", ".nvm/nvm.sh"),
    *(".pyenv/version", ".pyenv/plugins/p/bin/x", ".nvm/versions/node/v22/lib/x.js", ".rbenv/versions/3/bin/ruby"),
    *(".asdf/installs/nodejs/22/bin/node", ".volta/tools/image/node/22/bin/node", ".volta/bin/node", ".deno/bin/deno"),
    *(".volta/tools/image/packages/tsc/bin/tsc", ".bun/install/global/node_modules/a/x.js", ".rustup/settings.toml"),
    *(".rustup/toolchains/stable/lib/x.so", ".cargo/bin/cargo", ".cargo/registry/src/x.rs", ".m2/repository/a/x.jar"),
    *(".nuget/packages/a/x.dll", ".gradle/wrapper/dists/x", ".virtualenvs/a/lib/x.py", ".virtualenvs/a/pyvenv.cfg"),
    *(".local/share/virtualenvs/a/bin/python", ".local/share/pipx/venvs/b/lib/x.py", "go/pkg/mod/github.com/a/x.go"),
    *(".local/share/pypoetry/venv/bin/poetry", ".local/share/pdm/venv/bin/pdm", ".local/share/pdm/venvs/a/lib/x.py"),
    *(".local/share/hatch/env/virtual/a/1b/test/bin/pytest", ".local/share/hatch/pythons/3.12/python/bin/python"),
    *(".local/share/hatch/env/virtual/.pythons/3.12/hatch-dist.json", ".cache/node/corepack/lastKnownGood.json"),
    *(".cache/node/corepack/v1/pnpm/10.1.0/.corepack", ".cache/ms-playwright/chromium_headless_shell-1194/x"),
    *(".cache/ms-playwright/ffmpeg-1011/x", ".cache/Cypress/15.1.0/Cypress/Cypress", ".tool-versions"),
    *(".cache/puppeteer/chrome/linux-141.0/chrome-linux64/chrome", ".cache/puppeteer/firefox/linux-stable_143.0/x"),
    *("go/pkg/mod/cache/download/a/x.mod", ".opam/default/bin/ocaml", ".ghcup/ghc/9/bin/ghc", "scripts/run"),
)


async def test_fault_60_only_programs_and_libraries_of_tools_are_visible(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands see the programs of the tools in the home folder but no credentials, not even those stored later.

    A link that leads to itself causes no error.
    """
    home = tmp_path / "home"
    write(home, dict.fromkeys(PROGRAMS, "PROGRAM\n"))
    os.symlink("loop", home / ".virtualenvs/loop")
    (home / "scripts/run").chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home}/scripts:{home}/.local/share/pnpm:/usr/bin:/bin")
    for backend in filter(is_installed, BACKENDS):
        async with boxes(workspace, tmp_path / "state", backend) as box:
            ran = await box.run(f"cd ~ && cat {' '.join(PROGRAMS)}")
            assert (ran.code, ran.output) == (0, "PROGRAM\n" * len(PROGRAMS))
            private = sorted(mounts.paths_of(mounts.private_folders()))
            assert home / ".rustup/toolchains" in find_tools([workspace], os.environ, private).paths
            write(home, dict.fromkeys(CREDENTIALS, "HUNTER\n"))
            assert "HUNTER" not in (await box.run("grep -r HUNTER ~; true")).output
        async with boxes(workspace, tmp_path / "state", backend) as box:  # opened when the credentials already exist
            assert "HUNTER" not in (await box.run("grep -r HUNTER ~; true")).output
            assert (await box.run(f"cd ~ && cat {' '.join(PROGRAMS)}")).code == 0


INSTALLATIONS = {
    ".npm-global": ("bin/tsc", "lib/node_modules/tsc/cli.js"),
    "fnm/v22/installation": ("bin/npm", "lib/node_modules/npm/cli.js"),
    "brew": ("bin/jq", "Cellar/jq/1/bin/jq"),
    "sdk/go1.26": ("bin/go", "pkg/tool/link"),
    "apache-maven": ("bin/mvn", "boot/plexus.jar"),
}


async def test_programs_on_path_find_their_files_beside_bin(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program in `bin` may be a link to a file beside `bin`, as with npm and Homebrew, so that file is visible.

    Settings beside `bin` are not visible, and neither is any file beside `~/bin`.
    """
    home = tmp_path / "home"
    for folder, (program, library) in INSTALLATIONS.items():
        write(home / folder, {library: "PROGRAM\n", "etc/npmrc": "HUNTER\n", ".npmrc": "HUNTER\n"})
        (home / folder / "bin").mkdir(exist_ok=True)
        os.symlink(f"../{library}", home / folder / program)
    os.symlink("v22/installation", home / "fnm/shell")
    write(home, {"bin/run": "PROGRAM\n", "lib/key": "HUNTER\n", ".local/bin/x": "x", ".local/opt/key": "HUNTER\n"})
    os.symlink(home, home / "self")
    folders = [".npm-global", "fnm/shell", *list(INSTALLATIONS)[2:]]
    on_path = [f"{home}/{folder}/bin" for folder in (*folders, ".", "fnm/..", "self", ".local")]
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", ":".join((*on_path, "/usr/bin", "/bin")))
    programs = [f"{folder}/{program}" for folder, (program, _) in zip(folders, INSTALLATIONS.values(), strict=True)]
    for backend in filter(is_installed, BACKENDS):
        async with boxes(workspace, tmp_path / "state", backend) as box:
            assert await box.output(f"cd ~ && cat {' '.join(programs)} bin/run") == "PROGRAM\n" * 6
            assert "HUNTER" not in (await box.run("grep -r HUNTER ~; true")).output


@dataclass(frozen=True)
class Program:
    """A program that the user's settings name, in a folder that boxes hide."""

    path: str
    files: Mapping[str, str]
    """All files with their texts; a text that begins with `-> ` makes a link. `HOME` stands for the folder."""
    hidden: Collection[str]
    """The files that the box must not show."""


# each program prints the files that it needs
CHOSEN = {
    "a single file with a library": Program(
        "tools/one",
        {"tools/one": "#!/bin/sh\ncat HOME/tools/libone.so.1", "tools/libone.so.1": "ok"},
        ["tools/key"],
    ),
    "a virtual environment": Program(
        "any where/.venv/bin/server",
        {
            "any where/.venv/bin/server": "#!/bin/sh\n'''exec' \"HOME/any where/.venv/bin/python\" \"$0\"\n' '''",
            "any where/.venv/bin/python": "-> ../../../builds/py/bin/python3",
            "any where/.venv/pyvenv.cfg": "home = HOME/builds/py/bin",
            "any where/.venv/lib/python3/x.py": "ok",
            "builds/py/bin/python3": "#!/bin/sh\ncd 'HOME/any where' && cat .venv/pyvenv.cfg .venv/lib/python3/x.py"
            " HOME/builds/py/lib/python3/os.py",
            "builds/py/lib/python3/os.py": "ok",
        },
        ["any where/.venv/pip.conf", "any where/.venv/.env", "any where/notes", "builds/py/credentials.json"],
    ),
    "a package of npm": Program(
        "app/node_modules/.bin/server",
        {
            "app/node_modules/.bin/server": "-> ../server/cli.js",
            "app/node_modules/server/cli.js": "#!HOME/runtime/bin/node\n",
            "app/node_modules/dependency/index.js": "ok",
            "app/package.json": "{}",
            "runtime/bin/node": "#!/bin/sh\ncat HOME/app/node_modules/dependency/index.js HOME/runtime/lib/x",
            "runtime/lib/x": "",
        },
        ["app/node_modules/.npmrc", "app/src/index.js", "runtime/etc/npmrc"],
    ),
    "a package under development": Program(
        "bin/server",
        {
            "bin/server": "-> ../src/mono/server/out/cli.js",
            "src/mono/server/out/cli.js": "#!/usr/bin/env -S node --flag\n",
            "src/mono/server/package.json": "{}",
            "src/mono/server/lib/x.js": "ok",
            "src/mono/node_modules/dependency/index.js": "ok",
            "path/node": "#!/bin/sh\ncat HOME/src/mono/server/lib/x.js HOME/src/mono/node_modules/dependency/index.js",
        },
        ["src/mono/server/.env", "src/mono/server/config/credentials.json", "src/mono/other/index.js"],
    ),
    "an unpacked release, through a linked folder": Program(
        "current/bin/server",
        {
            "current": "-> releases/server-3.9",
            "releases/server-3.9/bin/server": "#!/bin/sh\ncat HOME/current/main.lua HOME/releases/server-3.9/script/x",
            "releases/server-3.9/main.lua": "ok",
            "releases/server-3.9/script/x": "ok",
        },
        ["releases/server-3.9/secrets.json", "releases/other/x"],
    ),
    "a toolchain": Program(
        "sdk/go/bin/server",
        {
            "sdk/go/bin/server": "#!/bin/sh\ncat HOME/sdk/go/pkg/tool/link HOME/sdk/go/libexec/x",
            "sdk/go/bin/go": "#!",
            "sdk/go/pkg/tool/link": "ok",
            "sdk/go/libexec/x": "ok",
        },
        ["sdk/key", "sdk/go/.netrc"],
    ),
}


def make_files(home: Path, files: Mapping[str, str]) -> None:
    """Creates files. Those that begin with `#!` are executable; those that begin with `-> ` are links."""
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text.replace("HOME", str(home)))
            path.chmod(0o755 if text.startswith("#!") else 0o644)


@pytest.mark.parametrize("backend", [*filter(is_installed, BACKENDS)])
@pytest.mark.parametrize("program", CHOSEN.values(), ids=CHOSEN)
async def test_fault_115_a_program_of_the_settings_is_visible_with_what_it_needs(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program, backend: str
) -> None:
    """docs/faults.md 115: wherever it is, but only in boxes that are made for it, and never the secrets next to it."""
    home = tmp_path / "home"
    make_files(home, {**program.files, **dict.fromkeys(program.hidden, "HUNTER")})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home}/path:/usr/bin:/bin")
    line = f"'{home}/{program.path}'"
    async with boxes(workspace, tmp_path / "state", backend) as box:
        ran = await box.run(line, programs=[home / program.path])
        assert (ran.code, "ok" in ran.output) == (0, True), ran.output
        found = await box.run(f"grep -r HUNTER {home}; true", programs=[home / program.path])
        assert "HUNTER" not in found.output
        assert (await box.run(line)).code != 0


async def test_an_environment_and_linked_programs_on_path_are_visible(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands find the packages of an environment on PATH and its Python, wherever these are."""
    home = tmp_path / "home"
    environment = CHOSEN["a virtual environment"]
    make_files(home, {**environment.files, **dict.fromkeys(environment.hidden, "HUNTER")})
    make_files(
        home, {"scripts/tool": "-> ../programs/run", "programs/run": "#!/bin/sh\necho ok", "programs/x": "HUNTER"}
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home}/any where/.venv/bin:{home}/scripts:/usr/bin:/bin")
    async with boxes(workspace, tmp_path / "state") as box:
        assert (await box.output("server; tool")).count("ok") == 3
        assert "HUNTER" not in (await box.run("grep -r HUNTER ~; true")).output


# for each variable: a visible and a hidden file in the folder that it names
MOVED = {
    "CARGO_HOME": ("registry/src/x.rs", "credentials.toml"),
    "GOPATH": ("pkg/mod/github.com/a/x.go", "pkg/mod/cache/vcs/x/config"),
    "DOTNET_ROOT": ("sdk/9/x.dll", "NuGet.Config"),
    "RBENV_ROOT": ("versions/3/bin/ruby", "plugins/p/token"),
    "ASDF_DATA_DIR": ("installs/nodejs/22/bin/node", "installs/nodejs/22/etc/npmrc"),
    "VOLTA_HOME": ("tools/image/node/22/bin/node", "hooks.json"),
    "FNM_DIR": ("node-versions/v22/installation/lib/x.js", "node-versions/v22/installation/etc/npmrc"),
    "SDKMAN_DIR": ("candidates/java/21/lib/x", "etc/config"),
    "PNPM_HOME": ("global/5/node_modules/a/x.js", "rc"),
    "GEM_HOME": ("gems/a/x.rb", "credentials"),
    "COREPACK_HOME": ("v1/pnpm/10.1.0/bin/pnpm.cjs", "x"),
    "PLAYWRIGHT_BROWSERS_PATH": ("webkit-2215/x", "mcp-chrome/Default/Cookies"),
    "CYPRESS_CACHE_FOLDER": ("15.1.0/Cypress/Cypress", "x"),
    "PUPPETEER_CACHE_DIR": ("chrome-headless-shell/linux-141.0/x", "x"),
}


async def test_tools_are_visible_in_folders_that_variables_name(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that a variable names has the same visible parts as the tool's usual folder.

    A variable that names the home folder reveals nothing.
    """
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("JAVA_HOME", str(home))
    write(home, {"lib/key": "HUNTER\n"})
    for variable, (shown, hidden) in MOVED.items():
        write(home / "tools" / variable, {shown: "PROGRAM\n", hidden: "HUNTER\n"})
        monkeypatch.setenv(variable, str(home / "tools" / variable))
    async with boxes(workspace, tmp_path / "state") as box:
        programs = " ".join(f"{variable}/{shown}" for variable, (shown, _) in MOVED.items())
        assert await box.output(f"cd ~/tools && cat {programs}") == "PROGRAM\n" * len(MOVED)
        assert "HUNTER" not in (await box.run("grep -r HUNTER ~; true")).output
        browsers = await box.output('echo "$PLAYWRIGHT_BROWSERS_PATH"')
        assert browsers == f"{home}/tools/PLAYWRIGHT_BROWSERS_PATH\n"


async def test_a_command_can_add_versions_next_to_the_shown_ones(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tools such as Corepack and Playwright download missing versions. Existing versions cannot be changed."""
    home = tmp_path / "home"
    versions = {
        ".cache/node/corepack/v1/pnpm": "10.1.0",
        ".cache/ms-playwright": "chromium-1194",
        ".cache/Cypress": "15.1.0",
        ".cache/puppeteer/chrome": "linux-141.0",
    }
    write(home, {f"{folder}/{version}/x": "PROGRAM\n" for folder, version in versions.items()})
    monkeypatch.setenv("HOME", str(home))
    async with boxes(workspace, tmp_path / "state") as box:
        folders = " ".join(f"{folder}/new" for folder in versions)
        assert (await box.run(f"cd ~ && mkdir {folders}")).code == 0
        assert (await box.run("echo > ~/.cache/Cypress/15.1.0/x")).code != 0


async def test_packages_of_yarns_plug_n_play_are_visible(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Yarn's packages are visible only with a `.pnp.cjs`. Before, `yarn install` must be able to write its cache."""
    home = tmp_path / "home"
    write(home, {".yarn/berry/cache/a.zip": "PROGRAM\n", ".yarn/berry/telemetry.json": "HUNTER\n"})
    monkeypatch.setenv("HOME", str(home))
    async with boxes(workspace, tmp_path / "state") as box:
        assert (await box.run("mkdir -p ~/.yarn/berry/cache && touch ~/.yarn/berry/cache/new.zip")).code == 0
        write(workspace, {".pnp.cjs": ""})
        assert await box.output("cat ~/.yarn/berry/cache/a.zip") == "PROGRAM\n"
        assert "HUNTER" not in (await box.run("grep -r HUNTER ~; true")).output


def test_only_programs_and_libraries_of_an_environments_python_are_visible(workspace: Path) -> None:
    """Of the Python that a `pyvenv.cfg` names, only `bin` and the library are shown.

    Nothing is shown if the named folder contains no Python or is not named `bin`, or if its path contains a link.
    """
    with tempfile.TemporaryDirectory(prefix="fairlead-python-", dir="/var/tmp") as folder:
        write(Path(folder), {f"python/{name}": "" for name in ("bin/python3", "lib/python3.12/os.py", "share/secret")})
        write(Path(folder), {"plain/bin/tool": "", "plain/secret": ""})
        os.symlink(f"{folder}/python", f"{folder}/link")
        shown = {"python/bin": ["bin", "lib/python3.12"], "python": [], "link/bin": [], "plain/bin": []}
        for home, parts in shown.items():
            write(workspace, {".venv/pyvenv.cfg": f"home = {folder}/{home}\n"})
            tools = find_tools([workspace], {}, sorted(mounts.paths_of(mounts.private_folders())))
            found = [path for path in tools.paths if path.is_relative_to(folder)]
            assert found == [Path(folder, "python", part) for part in parts]
