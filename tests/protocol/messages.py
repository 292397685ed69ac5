"""Examples of all messages, the source of tests/goldens/. The server's own code makes its messages from core values."""

from protocol.client_requests import content, requests, reviews
from protocol.golden import Golden
from protocol.notifications import progress, run_events, states
from protocol.server_requests import (
    apply_edit,
    approvals,
    authorizations,
    claims,
    code,
    diagnostics,
    entries,
    questions,
    terminal_output,
)


async def goldens() -> list[Golden]:
    """All goldens, sorted by name."""
    found = [
        *requests(),
        *states(),
        *run_events(),
        *reviews(),
        *await approvals(),
        *await questions(),
        *await authorizations(),
        *await terminal_output(),
        *await entries(),
        *await diagnostics(),
        *await code(),
        *await claims(),
        await apply_edit(),
        *progress(),
    ]
    found += content()
    return sorted(found, key=lambda golden: golden.name)
