"""What a broken or hostile server can send as the answer of a model, and what must happen then (docs/faults.md 160)."""

from faults.answers.bodies import CODINGS, ERRORS, STREAMS
from faults.answers.content import CALLS, CONTENT, FRAMES
from faults.answers.heads import CHUNKS, HEADS, REDIRECTS
from faults.answers.openai import CHAT, RESPONSES, SAID
from faults.answers.parts import DEFAULTS as SAID_BY_CLOUD
from faults.answers.parts import Answer

ANSWERS = [*HEADS, *REDIRECTS, *CHUNKS, *CODINGS, *ERRORS, *STREAMS, *CONTENT, *CALLS, *FRAMES, *CHAT, *RESPONSES]
DEFAULTS = {**SAID_BY_CLOUD, **SAID}
"""What follows an answer, by `Answer.cloud` or `Answer.api`."""

__all__ = ["ANSWERS", "DEFAULTS", "Answer"]
