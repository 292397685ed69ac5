"""Names files on Markdown pages as the user knows them. VS Code's preview shows no link to a file."""

from dataclasses import dataclass
from pathlib import Path

from fairlead.session.report.markdown import code_span, plain
from fairlead.workspace.file_problem import FileProblem
from fairlead.workspace.paths import Roots


@dataclass(frozen=True, slots=True)
class FileNames:
    """Names a file by its path in the workspace or, with `~`, in the home; any other by its absolute path."""

    roots: Roots
    home: Path

    def of(self, path: Path, line: int | None = None) -> str:
        """The name of a file, and of a line in it, from 1."""
        name = self.roots.relative(path)
        if name == str(path) and path.is_relative_to(self.home):
            name = f"~/{path.relative_to(self.home).as_posix()}"
        return code_span(name) if line is None else f"{code_span(name)}, line {line}"

    def about(self, problem: FileProblem) -> str:
        """An item of a list that says what is wrong with a file."""
        return f"- {self.of(problem.path, problem.line)}: {plain(problem.text)}"
