"""The language servers that Fairlead knows, and those in the user's settings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairlead.json_values import fields_of, is_list
from fairlead.shell.services.process import named_files


@dataclass(frozen=True)
class ServerSpec:
    """A language server that can be started if its program is found."""

    name: str
    command: tuple[str, ...]
    """The program, by name or path, and its arguments; empty: the server is switched off."""
    languages: Mapping[str, str]
    """LSP's language id by suffix of a file, such as `.py`."""
    initialization_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Sent with `initialize`. Also answers `workspace/configuration`, whose sections are dotted paths in them."""
    scanned_message: str = ""
    """A text in the message that it logs when it has listed the workspace's files; empty if it logs none.

    Until it has listed them, it only knows open documents.
    """

    python_option: tuple[str, str] | None = None
    """The section and the name of the option for the Python that imports come from.

    None: the server needs none.
    """

    package: tuple[str, int] | None = None
    """The npm package of the program, and the first major version that is a language server.

    None: the program always is one.
    """

    def __hash__(self) -> int:
        return hash((self.name, self.command))

    def language_of(self, path: Path) -> str:
        """LSP's language id for a file; "" if the server does not know the language."""
        return self.languages.get(path.suffix, "")

    def named_files(self) -> Sequence[Path]:
        """The files that the arguments and the options name by an absolute path, such as a script or a Python."""
        return named_files((*self.command[1:], *_texts(self.initialization_options)))

    def with_python(self, python: Path | None) -> "ServerSpec":
        """This server with `python` in its options.

        Unchanged if `python` is None, if the server has no option for it, or if the user has set that option.
        """
        if self.python_option is None or python is None:
            return self
        section, name = self.python_option
        values = {name: str(python), **fields_of(self.initialization_options.get(section))}
        return replace(self, initialization_options={**self.initialization_options, section: values})


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value, apart from keys."""
    if isinstance(value, str):
        yield value
    for each in value if is_list(value) else fields_of(value).values():
        yield from _texts(each)


_PYTHON = {".py": "python", ".pyi": "python"}
_TYPESCRIPT = {
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
}  # fmt: skip
_C = {
    ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
    ".m": "objective-c", ".mm": "objective-cpp", ".cu": "cuda-cpp",
}  # fmt: skip
_OPEN_FILES = {"analysis": {"diagnosticMode": "openFilesOnly"}}

TYPESCRIPT_7 = ServerSpec("typescript", ("tsc", "--lsp", "--stdio"), _TYPESCRIPT, package=("typescript", 7))
"""From version 7 on, the compiler is also the language server, and typescript-language-server cannot use it."""

TABLE = (
    ServerSpec(
        "basedpyright",
        ("basedpyright-langserver", "--stdio"),
        _PYTHON,
        {"basedpyright": {"analysis": {**_OPEN_FILES["analysis"], "typeCheckingMode": "standard"}}},
        "source file",
        ("python", "pythonPath"),
    ),
    ServerSpec(
        "pyright",
        ("pyright-langserver", "--stdio"),
        _PYTHON,
        {"python": _OPEN_FILES},
        "source file",
        ("python", "pythonPath"),
    ),
    TYPESCRIPT_7,
    ServerSpec(
        "typescript-language-server",
        ("typescript-language-server", "--stdio"),
        _TYPESCRIPT,
        # without `never`, a second process answers while the project is read; it knows only single files, and is often
        # wrong
        {"tsserver": {"useSyntaxServer": "never"}, "disableAutomaticTypingAcquisition": True},
    ),
    ServerSpec("rust-analyzer", ("rust-analyzer",), {".rs": "rust"}),
    ServerSpec("gopls", ("gopls",), {".go": "go"}),
    ServerSpec("clangd", ("clangd",), _C),
)
"""For each language, the first one whose program is found is used."""


def server_specs(settings: Sequence[ServerSpec]) -> tuple[ServerSpec, ...]:
    """All servers that are not switched off. The user's come first, and replace the known ones with the same names."""
    named = {spec.name for spec in settings}
    specs = (*settings, *(spec for spec in TABLE if spec.name not in named))
    return tuple(spec for spec in specs if spec.command)
