"""What a broken or hostile server can send as the answer of a model, and what must happen then (docs/faults.md 160)."""

from faults.answers.bodies import CODINGS, ERRORS, STREAMS
from faults.answers.content import CALLS, CONTENT, FRAMES
from faults.answers.heads import CHUNKS, HEADS, REDIRECTS
from faults.answers.parts import DEFAULTS, Answer

ANSWERS = [*HEADS, *REDIRECTS, *CHUNKS, *CODINGS, *ERRORS, *STREAMS, *CONTENT, *CALLS, *FRAMES]

__all__ = ["ANSWERS", "DEFAULTS", "Answer"]
