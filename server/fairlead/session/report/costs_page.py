"""A page about the costs of all listed sessions: per day, and per session."""

from collections.abc import Iterable, Sequence

from fairlead.session.evidence.spending import Spent, total
from fairlead.session.report.listing import Row
from fairlead.session.report.markdown import code_span

NOTHING = "No session of this workspace has asked a model yet."
ABOUT = (
    "What the sessions of this workspace cost, without those that were deleted. The prices are those of Fairlead's "
    "list and your settings; your provider's bill decides."
)


def costs_page(rows: Sequence[Row]) -> str:
    """The page as Markdown."""
    paid = [row for row in rows if row.spent]
    days = sorted({day for row in paid for day in row.spent}, reverse=True)
    if not days:
        return f"# Costs\n\n{NOTHING}\n"
    parts = ["# Costs", ABOUT, "## Sessions", _table((row.title, total(row.spent.values())) for row in paid)]
    for day in days:
        parts += [f"## {day}", _table((row.title, row.spent[day]) for row in paid if day in row.spent)]
    return "\n\n".join(parts) + "\n"


def _table(costs: Iterable[tuple[str, Spent]]) -> str:
    found = list(costs)
    rows = [f"| {_code(title)} | {_cells(spent)} |" for title, spent in found]
    if len(found) > 1:
        rows.append(f"| **Total** | {_cells(total(spent for _, spent in found))} |")
    return "\n".join(["| session | cost | tokens |", "|---|--:|--:|", *rows])


def _cells(spent: Spent) -> str:
    unknown = f" ({spent.unpriced:,} of unknown price)" if 0 < spent.unpriced < spent.tokens else ""
    usd = "unknown" if spent.known_usd is None else f"${spent.known_usd:.2f}"
    return f"{usd} | {spent.tokens:,}{unknown}"


def _code(title: str) -> str:
    return code_span((title or "New session").replace("|", "\\|"))  # even in code, a table needs the backslash
