"""What servers mean when they refuse a request: it is too long, it allows too long an answer, the model is loading.

There is no common form, each server has its own words: tests/support/fixtures/refusals.yaml has them, with sources.
"""

import re

from fairlead.agent.errors import Overflow

_TOO_LONG = re.compile(
    r"(prompt|input) is too long|too many (input )?tokens"
    r"|(context|input)[ _]?(length|limit|size|window)|exceed_context|\bn_ctx\b"
    r"|maximum (number of tokens allowed|context)|input tokens exceed|max_new_tokens` must be",
    re.IGNORECASE,
)
_REQUEST = r"(?P<request>\d+)"
_WINDOW = r"(?P<window>\d+)"
_NAMED = [
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"{_REQUEST} tokens > {_WINDOW} maximum",
        rf"exceed context limit: {_REQUEST} \+ \d+ > {_WINDOW}",
        rf"\({_REQUEST} tokens\) exceeds the available context size \({_WINDOW} tokens",
        rf"\"n_prompt_tokens\": {_REQUEST}, \"n_ctx\": {_WINDOW}",
        rf"n_keep: {_REQUEST}\s*>=\s*n_ctx: {_WINDOW}",
        rf"keep the first {_REQUEST} tokens.*context length of only {_WINDOW}",
        rf"maximum context length is +{_WINDOW} tokens and your request has {_REQUEST} input tokens",
        rf"passed {_REQUEST} input tokens.*context length is only {_WINDOW} tokens",
        rf"maximum context length is +{_WINDOW} tokens.*\({_REQUEST} in (?:the messages|your prompt)",
        rf"maximum context length is +{_WINDOW} tokens.*(?:messages|prompt) resulted in {_REQUEST} tokens",
        rf"\({_REQUEST} tokens\) is longer than the model's context length \({_WINDOW} tokens",
        rf"requested tokens \({_REQUEST}\) exceed context window of {_WINDOW}",
        rf"token count \({_REQUEST}\) exceeds the maximum number of tokens allowed \({_WINDOW}",
        rf"maximum context length (?:is|of) {_WINDOW} tokens",
    )
]
_MOST_ANSWER = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"max_tokens: \d+ > (\d+), which is the maximum",
        r"valid range of max_tokens is \[1, (\d+)\]",
        r"supports at most (\d+) completion tokens",
        r"max_(?:completion_)?tokens\b.{0,100}expected a value <= (\d+)",
    )
]
_LOADING = re.compile(
    r"loading (the )?model|model\b.{0,200}\b(is|still|currently) (being )?load|(is|still|currently) (loading|starting)"
    r"|warming up",
    re.IGNORECASE | re.DOTALL,
)


def is_too_long(said: str) -> bool:
    return _TOO_LONG.search(said) is not None


def overflow_of(said: str) -> Overflow:
    """The sizes that a refusal for length names."""
    for pattern in _NAMED:
        if found := pattern.search(said):
            return Overflow(**{name: int(number) for name, number in found.groupdict().items()})
    return Overflow()


def most_answer(said: str) -> int | None:
    """The highest `max_tokens` that the model takes, where a refusal names it."""
    found = next(filter(None, (pattern.search(said) for pattern in _MOST_ANSWER)), None)
    return int(found[1]) if found else None


def is_loading(said: str) -> bool:
    return _LOADING.search(said) is not None
