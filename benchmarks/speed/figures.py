"""The figures of `npm run bench` that have a target (docs/performance.md), as a table and as JSON."""

import json
import math
import platform
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import psutil


@dataclass(frozen=True)
class Figure:
    """A measured value and its limit, which is a number, or a multiple of another figure of the same run."""

    name: str
    value: float
    """NaN if it could not be measured."""
    unit: str
    target: float
    beside: str = ""
    """The name of the figure that it is compared with, if any."""
    compared: float | None = None
    """The value of that figure; the limit is `target` times this. If None, the limit is `target`, in `unit`."""
    failures: str = ""
    """How many of the measured runs failed, and of how many. Empty if none did."""

    @property
    def ratio(self) -> float:
        """The value divided by its limit: at most 1 if the target is met."""
        return self.value / (self.target if self.compared is None else self.target * self.compared)

    @property
    def is_met(self) -> bool:
        return self.ratio <= 1


class Figures:
    """Collects the figures of one run."""

    def __init__(self) -> None:
        self.all: list[Figure] = []
        self.failed: list[str] = []
        """What could not be measured, or only in part."""

    @contextmanager
    def measuring(self, what: str) -> Iterator[None]:
        """If the block raises, prints the error and adds `what` to `failed`, so that the rest can still be measured."""
        try:
            yield
        except Exception:
            traceback.print_exc(file=sys.stdout)
            self.failed.append(what)

    def add(self, name: str, value: float, unit: str, target: float) -> None:
        """Adds a figure that may be at most `target`."""
        self.all.append(Figure(name, value, unit, target))

    def compare(
        self, name: str, value: float, unit: str, beside: str, compared: float, target: float, failures: str = ""
    ) -> None:
        """Adds a figure that may be at most `target` times the figure `compared`, which `beside` names."""
        self.all.append(Figure(name, value, unit, target, beside, max(compared, 1e-9), failures))

    def table(self) -> str:
        """The figures as a Markdown table, in the form that docs/performance.md uses."""
        lines = ["| what | figure | baseline | ratio | target (at most) | |", "|---|---:|---:|---:|---:|---|"]
        for each in self.all:
            if each.compared is None:
                beside, ratio, most = "", "", f"{each.target:,g} {each.unit}"
            else:
                beside = f"{each.beside}: {_shown(each.compared)} {each.unit}"
                ratio, most = f"{each.value / each.compared:.2f}", f"{each.target:g} times"
            marks = ", ".join(filter(None, ("" if each.is_met else "missed", each.failures)))
            lines.append(f"| {each.name} | {_shown(each.value)} {each.unit} | {beside} | {ratio} | {most} | {marks} |")
        return "\n".join(lines)

    def write(self, path: Path) -> None:
        """Writes the figures with the machine, the date and the commit as JSON."""
        figures = [
            {**asdict(each), "value": None if math.isnan(each.value) else each.value, "met": each.is_met}
            for each in self.all
        ]
        path.write_text(json.dumps({**machine(), "figures": figures}, indent=2) + "\n")


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def machine() -> dict[str, str | int]:
    """The date, the commit and the machine of a run, without which its figures cannot be compared with others."""
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "date": date.today().isoformat(),
        "commit": head.stdout.strip(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": psutil.cpu_count() or 0,
        "memoryGb": round(psutil.virtual_memory().total / 1e9),
    }
