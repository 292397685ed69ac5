"""What is wrong with a file that the user wrote for the agent, such as a skill."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileProblem:
    path: Path
    text: str
    """What is wrong, for a line that begins with the file and a colon: `it has no instructions`."""
    line: int | None = None
    """Where, from 1. None: it concerns the file as a whole."""
    is_left_out: bool = False
    """Whether nothing in the file is used because of it."""

    def __str__(self) -> str:
        return f"{self.path}{'' if self.line is None else f', line {self.line}'}: {self.text}"
