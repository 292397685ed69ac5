"""Lists the parts of tools, mostly in the user's home, that commands may see: programs and libraries.

The list says what is shown, not what is hidden, because tools also store tokens in their folders (`uv/credentials`,
`pnpm/rc`, `pip.conf` in an environment, `etc/npmrc` in an installed Node).
"""

import os
import stat
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path


class Parts(dict[str, "Parts"]):
    """The shown parts of a folder, by name or pattern. An entry without parts is shown as a whole."""


# placeholders for the last component of a path: they stand for the executable files directly in the folder, and for the
# parts in `_OF_INSTALLED`
_PROGRAMS, _INSTALLED = "<programs>", "<installed>"
# names of folders that contain only programs
BIN = ("bin", "sbin")
_PROGRAM_FOLDERS = ("bin", "sbin", "shims", "condabin", "libexec", ".bin")


def _parts(*paths: str) -> Parts:
    parts = Parts()
    for path in paths:
        *above, name = path.split("/")
        at = parts
        for folder in above:
            at = at.setdefault(folder, Parts())
        at.update(_OF_INSTALLED if name == _INSTALLED else {name: at.get(name, Parts())})
    return parts


# an installed program's folder: an environment, a Python, Node, Go, Java or .NET, or what conda or mise installs
_OF_INSTALLED = _parts(
    *("bin", "sbin", "lib", "lib64", "lib32", "libexec", "include", "share", "man", "ssl", "pyvenv.cfg", _PROGRAMS),
    *("*-linux-gnu", "conda-meta", "condabin", "compiler_compat", "shell", "fonts", "etc/profile.d", "etc/fonts"),
    *("etc/bash_completion.d", "etc/*-schema.json", "pkg", "src", "api", "misc", "test", "doc", "go.env", "VERSION"),
    *("jre", "jmods", "legal", "release", "conf/security", "conf/*.properties", "boot", "init.d", "plugins"),
    *("sdk", "shared", "host", "packs", "templates", "sdk-manifests", "metadata", "README*", "LICENSE*", "NOTICE*"),
    *("CHANGELOG*", "COPYING*", "AUTHORS*", "CONTRIBUTING*", "SECURITY*", "PATENTS", "CODEOWNERS"),
)
# what a program that is not in `bin` needs of its folder
LIBRARIES = _parts("*.so", "*.so.*")
# what the programs in `bin` need of the folder that contains `bin`, such as `~/.npm-global` or Homebrew's
_BESIDE_PROGRAMS = _parts("lib", "lib64", "libexec", "include", "Cellar", "opt")
# files that show that the folder is an installation, or an environment of Python
_INSTALLATION = ("bin/go", "bin/mvn", "bin/java", "pyvenv.cfg")
_ENVIRONMENTS = _parts("*/<installed>")
_CONDA = _parts("<installed>", "envs/*/<installed>", "pkgs/*/<installed>")
_PLUGIN = ("bin", "lib", "libexec", "etc", "share", "shims", "hooks", "*.lua")
_PLUGINS = tuple(f"plugins/*/{part}" for part in _PLUGIN)
# the layout of rbenv and similar version managers
_VERSIONS = ("bin", "libexec", "shims", "version", "default", "lib", "*env.d", "versions/*/<installed>", *_PLUGINS)
_PYENV = _parts(*_VERSIONS)
_NVM = _parts(
    *("nvm.sh", "nvm-exec", "bash_completion", "alias", "v[0-9]*/<installed>"),
    *("versions/node/*/<installed>", "versions/io.js/*/<installed>"),
)
_RUSTUP = _parts("settings.toml", "update-hashes", "toolchains/*/<installed>")
_MISE = _parts("installs/*/*/<installed>", "shims", *_PLUGINS)
_FNM = _parts("node-versions/*/installation/<installed>", "aliases/*/<installed>")
_JULIA = _parts("bin", "julia-*/<installed>")
# named one by one: `mcp-chrome-*` next to them are profiles with cookies
_PLAYWRIGHT = _parts(*(f"{browser}*-[0-9]*" for browser in ("chromium", "firefox", "webkit", "ffmpeg")))
_CYPRESS = _parts("[0-9]*")

IN_HOME: Mapping[str, Parts] = {
    ".pyenv": _PYENV,
    ".rbenv": _PYENV,
    ".nodenv": _PYENV,
    ".goenv": _PYENV,
    ".jenv": _parts(*_VERSIONS, "available-plugins"),
    ".nvm": _NVM,
    ".rustup": _RUSTUP,
    ".elan": _parts("bin", "env", "settings.toml", "toolchains/*/<installed>"),
    ".volta": _parts(
        *("bin", "layout.v*", "<programs>", "tools/inventory", "tools/user"),
        *("tools/image/packages/@*/*/<installed>", "tools/image/packages/*/<installed>", "tools/image/*/*/<installed>"),
    ),
    ".asdf": _parts(
        *("bin", "lib", "libexec", "shims", "asdf.*", "internal", "defaults", "version.txt"),
        *("installs/*/*/<installed>", *_PLUGINS),
    ),
    ".deno": _parts("bin", "env"),
    ".bun": _parts("bin", "install/global/node_modules"),
    ".rvm": _parts(
        *("bin", "scripts", "wrappers", "environments", "lib", "VERSION", "hooks", "usr", "rubies/*/<installed>"),
        *(f"gems/*/{name}" for name in ("bin", "gems", "specifications", "extensions", "build_info", "plugins")),
        *("gems/*/wrappers", "gems/*/environment"),
    ),
    ".sdkman": _parts(
        *("bin", "src", "libexec", "contrib", "var/candidates", "var/version", "var/platform"),
        "candidates/*/*/<installed>",
    ),
    ".fnm": _FNM,
    ".local/share/fnm": _FNM,
    ".dotnet": _parts("<installed>", "tools/<programs>", "tools/.store"),
    ".opam": _parts("opam-init", *(f"*/{name}" for name in ("bin", "sbin", "lib", "libexec", "share", "doc", "man"))),
    ".ghcup": _parts("bin", "env", "ghc/*/<installed>", "hls/*/<installed>"),
    ".juliaup": _JULIA,
    ".julia/juliaup": _JULIA,
    ".conda": _parts("envs/*/<installed>"),
    "miniconda3": _CONDA,
    "anaconda3": _CONDA,
    "miniforge3": _CONDA,
    "mambaforge": _CONDA,
    ".virtualenvs": _ENVIRONMENTS,
    ".local/share/virtualenvs": _ENVIRONMENTS,
    ".cache/pypoetry/virtualenvs": _ENVIRONMENTS,
    ".local/share/pypoetry": _parts("venv/<installed>", "python/*/<installed>"),
    ".local/share/pdm": _parts("venv/<installed>", "venvs/*/<installed>", "python/*/<installed>"),
    ".local/share/hatch": _parts(
        *("env/virtual/*/*/*/<installed>", "pythons/*/hatch-dist.json", "pythons/*/python/<installed>"),
        *("env/virtual/.pythons/*/hatch-dist.json", "env/virtual/.pythons/*/python/<installed>"),
    ),
    ".local/share/uv": _parts("python/*/<installed>", "tools/*/<installed>"),
    ".local/share/pipx": _parts("venvs/*/<installed>", "shared/<installed>"),
    ".local/share/mise": _MISE,
    ".local/share/rtx": _MISE,
    ".local/share/pnpm": _parts("global", "nodejs/*/<installed>", ".tools", "<programs>"),
    ".local": _parts("bin", "lib"),
    # a folder for each package manager and browser, so that a command with the network can add a version to it
    ".cache/node/corepack": _parts("lastKnownGood.json"),
    **{f".cache/node/corepack/v1/{manager}": _parts("*") for manager in ("npm", "pnpm", "yarn")},
    ".cache/ms-playwright": _PLAYWRIGHT,
    ".cache/Cypress": _CYPRESS,
    **{f".cache/puppeteer/{name}": _parts("linux*") for name in ("chrome", "chrome-headless-shell", "firefox")},
    # `*.*`: a module's path begins with a host. `cache/vcs` is left out: the addresses of its clones may contain
    # passwords
    "go": _parts("bin", "pkg/sumdb", "pkg/mod/*.*", "pkg/mod/cache/download", "pkg/mod/cache/lock"),
    ".cargo": _parts("bin", "env", "registry", "git"),
    ".m2": _parts("repository"),
    ".gradle": _parts("wrapper"),
    ".ivy2": _parts("cache"),
    ".nuget": _parts("packages"),
    ".config/git": _parts("ignore", "attributes"),
    ".tool-versions": Parts(),
}
# where Yarn's Plug'n'Play loads packages from
YARN_CACHE = ".yarn/berry/cache"
BY_VARIABLE: Mapping[str, Parts] = {
    "VIRTUAL_ENV": _OF_INSTALLED,
    "CONDA_PREFIX": _CONDA,
    "JAVA_HOME": _OF_INSTALLED,
    "GOROOT": _OF_INSTALLED,
    "NVM_DIR": _NVM,
    "PYENV_ROOT": _PYENV,
    "RUSTUP_HOME": _RUSTUP,
    "CARGO_HOME": IN_HOME[".cargo"],
    "GOPATH": IN_HOME["go"],
    "DOTNET_ROOT": IN_HOME[".dotnet"],
    "RBENV_ROOT": IN_HOME[".rbenv"],
    "ASDF_DATA_DIR": IN_HOME[".asdf"],
    "VOLTA_HOME": IN_HOME[".volta"],
    "FNM_DIR": _FNM,
    "SDKMAN_DIR": IN_HOME[".sdkman"],
    "PNPM_HOME": IN_HOME[".local/share/pnpm"],
    "COREPACK_HOME": _parts("lastKnownGood.json", "v1/*/*"),
    "PLAYWRIGHT_BROWSERS_PATH": _PLAYWRIGHT,
    "CYPRESS_CACHE_FOLDER": _CYPRESS,
    "PUPPETEER_CACHE_DIR": _parts("chrome*/linux*", "firefox/linux*"),
    "GEM_HOME": _parts("bin", "gems", "specifications", "extensions", "build_info", "plugins"),
}


def parts_of_path_folder(folder: Path) -> Parts:
    """The shown parts of a folder in `PATH`."""
    return Parts() if folder.name in _PROGRAM_FOLDERS else _parts(_PROGRAMS)


def parts_around_bin(top: Path) -> Parts:
    """The shown parts of a folder that contains a `bin` or `sbin` with programs."""
    return _OF_INSTALLED if any(os.path.isfile(top / name) for name in _INSTALLATION) else _BESIDE_PROGRAMS


class Listing:
    """Lists folders, and records their modification times, so that a later change can be detected."""

    def __init__(self) -> None:
        self._times: dict[str, int | None] = {}

    def entries(self, folder: Path) -> list[os.DirEntry[str]]:
        """The entries of a folder; empty if it cannot be listed."""
        self._times[str(folder)] = _modified_at(folder)
        try:
            with os.scandir(folder) as entries:
                return list(entries)
        except OSError:
            return []

    def is_current(self) -> bool:
        """Whether nothing has been added to the folders or removed from them since they were listed."""
        return all(_modified_at(folder) == time for folder, time in self._times.items())


def _modified_at(folder: str | Path) -> int | None:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return None


def shown_paths(folder: Path, parts: Parts, listing: Listing) -> list[Path]:
    """The shown paths in a folder. An inner folder that is shown completely is one path, because mounts take time.

    A tool may store credentials there later, so the paths are valid only as long as `listing` is current. `folder`
    itself is such a path only if `parts` is empty.
    """
    if not parts:
        return [folder]
    return [path for entry in listing.entries(folder) for path in _shown(entry, _named(entry, parts), listing)]


def _shown(entry: os.DirEntry[str], parts: Parts | None, listing: Listing) -> list[Path]:
    path = Path(entry.path)
    if parts is None:
        return []
    inner = [_shown(each, _named(each, parts), listing) for each in listing.entries(path)] if parts else []
    if all(len(paths) == 1 for paths in inner) and all(paths[0].parent == path for paths in inner):
        return [path]
    return [each for paths in inner for each in paths]


def _named(entry: os.DirEntry[str], parts: Parts) -> Parts | None:
    """The shown parts of an entry; None if it is not shown. A file is not shown where the list expects a folder."""
    found = parts.get(entry.name)
    if found is None:
        found = next((parts[name] for name in parts if "*" in name and fnmatchcase(entry.name, name)), None)
    if found is None and _PROGRAMS in parts:
        found = Parts() if _is_program(entry) else None
    # unlike `DirEntry.is_dir`, `isdir` does not raise for a link that cannot be followed
    return None if found and not os.path.isdir(entry.path) else found


def _is_program(entry: os.DirEntry[str]) -> bool:
    try:
        mode = entry.stat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & 0o111)
