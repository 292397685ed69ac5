"""One example of each message, made by the server's own code out of core values: the source of tests/goldens/."""

from protocol.client_requests import content, requests, reviews
from protocol.golden import Golden
from protocol.notifications import progress, run_events, states
from protocol.server_requests import apply_edit, approvals, code, diagnostics, questions


async def goldens() -> list[Golden]:
    """All of them, by name."""
    found = [
        *requests(),
        *states(),
        *run_events(),
        *reviews(),
        *await approvals(),
        *await questions(),
        *await diagnostics(),
        *await code(),
        await apply_edit(),
        *progress(),
    ]
    found += content()
    return sorted(found, key=lambda golden: golden.name)
