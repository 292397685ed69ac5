"""Recognizes refusals by their texts.

A server may refuse a request because it is too long, because of a picture, thinking or `max_tokens`, because the model
is unknown or still loading, because of the key or the user's country, or because the account cannot pay.

Each server words them differently; tests/support/fake_api/fixtures/refusals.yaml lists the texts with their sources.
"""

import re

from fairlead.agent.errors import Overflow

_TOO_LONG = re.compile(
    r"(prompt|input) is too long|too many (input )?tokens"
    r"|(context|input)[ _]?(length|limit|size|window)|exceed_context|\bn_ctx\b"
    r"|maximum (number of tokens allowed|context)|input tokens exceed|max_new_tokens` must be"
    r"|prompt is \d+ tokens; the model context",
    re.IGNORECASE,
)
_REQUEST = r"(?P<request>\d+)"
_WINDOW = r"(?P<window>\d+)"
_OVERFLOWS = [
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"(?<!\d){_REQUEST} tokens > {_WINDOW} maximum",  # not from each digit of a long number
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
        rf"prompt is {_REQUEST} tokens; the model context is {_WINDOW}",
    )
]
_MAX_TOKENS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"max_tokens: \d+ > (\d+), which is the maximum",
        r"valid range of max_tokens is \[1, (\d+)\]",
        r"supports at most (\d+) completion tokens",
        r"max_(?:completion_|output_)?tokens\b.{0,100}expected a value <= (\d+)",
    )
]
_LOADING = re.compile(
    r"loading (the )?model|model\b.{0,200}\b(is|still|currently) (being )?load|(is|still|currently) (loading|starting)"
    r"|warming up",
    re.IGNORECASE | re.DOTALL,
)

_KEY = re.compile(r"api key not valid|api key expired|^no connected db", re.IGNORECASE)
"""Gemini's texts, and that of LiteLLM without a database, where it looks for each key but its own."""
_BILLING = re.compile(
    r"\bcredit balance is too low\b|error_code['\"]: ?['\"]\w*spend_limit_reached\b"
    r"|\binsufficient[ _](quota|credits|balance)\b|\bexceeded your current quota\b|\bkey limit exceeded\b",
    re.IGNORECASE,
)
_IMAGES = re.compile(r"\bimages?\b|\bimage_url\b|\bvision\b|multi-?modal|mmproj", re.IGNORECASE)
_THINKING = re.compile(
    r"invalid .?signature.? in .?thinking|bound to a different conversation|thinking\.signature: field required"
    r"|.?(redacted_)?thinking.? blocks?\b.{0,80}cannot be modified"
    r"|input should be .{0,200}\binput(_value)?\W{1,6}(redacted_)?thinking\b"
    r"|encrypted content .{0,200}could not be verified|of type 'reasoning' was provided without",
    re.IGNORECASE | re.DOTALL,
)

_TOOLS = re.compile(
    r"--enable-auto-tool-choice|requires? --jinja|(does not|doesn't) support (tools|tool use|function calling)"
    r"|no endpoints found that support tool use|tools? (is|are) not supported|tool calling is not supported",
    re.IGNORECASE,
)

_MODEL = re.compile(
    r"\bmodel_not_found\b|\binvalid[ _]model\b|\bdeploymentnotfound\b|^model: \S+( |$)|\bnot a valid model\b"
    r"|\bno endpoints found for\b|\baccess (to )?(the )?model\b"
    r"|\bmodels?\b.{0,200}\b((does )?not exist|not found)\b",
    re.IGNORECASE,
)
_REGION = re.compile(
    r"\bunsupported_country|\b(country|region|territory|location)\b.{0,40}\bnot (supported|available)\b"
    r"|\bnot (supported|available) in (your|this) (country|region|location)\b|^request not allowed\b",
    re.IGNORECASE,
)

MAX_DIGITS = 12
"""A number with more digits cannot be the size of a window."""


def is_too_long(said: str) -> bool:
    """Whether a refusal says that the request does not fit into the window."""
    return _TOO_LONG.search(said) is not None


def parse_overflow(said: str) -> Overflow:
    """Reads the sizes from a refusal for length. Those that it does not name are None."""
    for pattern in _OVERFLOWS:
        if found := pattern.search(said):
            return Overflow(**{name: _size(number) for name, number in found.groupdict().items()})
    return Overflow()


def parse_max_tokens(said: str) -> int | None:
    """Reads the highest `max_tokens` that the model allows; None if the refusal does not name it."""
    found = next(filter(None, (pattern.search(said) for pattern in _MAX_TOKENS)), None)
    return _size(found[1]) if found else None


def _size(digits: str) -> int | None:
    """The number of tokens; None if it is 0 or has more than MAX_DIGITS digits."""
    return int(digits) or None if len(digits) <= MAX_DIGITS else None


def is_about_key(said: str) -> bool:
    """Whether a refusal says that the key is missing or wrong, although its status says that the request is."""
    return _KEY.search(said) is not None


def is_about_billing(said: str) -> bool:
    """Whether a refusal says that the account has no credit or has reached its spend limit, whatever its status."""
    return _BILLING.search(said) is not None


def is_about_images(said: str) -> bool:
    """Whether a refusal mentions pictures: the model's server may refuse one of them, or all pictures."""
    return _IMAGES.search(said) is not None


def is_about_thinking(said: str) -> bool:
    """Whether a refusal says that thinking in the conversation is unknown, has no valid signature, or was changed."""
    return _THINKING.search(said) is not None


def is_about_tools(said: str) -> bool:
    """Whether a refusal says that the model, or its server as it was started, takes no tools."""
    return _TOOLS.search(said) is not None


def is_about_model(said: str) -> bool:
    """Whether a refusal says that there is no such model, or that the key has no access to it."""
    return _MODEL.search(said) is not None


def is_about_region(said: str) -> bool:
    """Whether a refusal says that the provider does not serve the user's country."""
    return _REGION.search(said) is not None


def is_loading(said: str) -> bool:
    """Whether a refusal says that the server is still loading its model."""
    return _LOADING.search(said) is not None
