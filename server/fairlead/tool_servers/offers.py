"""What a tool server offers to the user, besides tools for the model: prompts and resources."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead.display import shorten

if TYPE_CHECKING:
    from mcp_types import Prompt, Resource

MAX_OFFERS = 500
"""How many prompts and how many resources of a server are used."""
MAX_ARGUMENTS = 20
MAX_NAME, MAX_URI = 200, 2000
"""A prompt or a resource with a longer name or URI is left out."""
_MAX_DESCRIPTION = 500


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """A value that a prompt takes."""

    name: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class ListedPrompt:
    """A prompt as its server describes it."""

    name: str
    description: str
    arguments: tuple[PromptArgument, ...]


@dataclass(frozen=True, slots=True)
class ListedResource:
    """A resource as its server describes it."""

    uri: str
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Offer:
    """What a server offers to the user."""

    server: str
    prompts: Sequence[ListedPrompt]
    """Those that it had when it last ran."""
    resources: Sequence[ListedResource]
    """Empty unless it runs."""


def listed_prompt(prompt: "Prompt") -> ListedPrompt | None:
    """A prompt of the SDK; None if no user can call it."""
    arguments = prompt.arguments or []
    names = [prompt.name, *(each.name for each in arguments)]
    if len(arguments) > MAX_ARGUMENTS or any(not _is_usable(name, MAX_NAME) for name in names):
        return None
    about = shorten(prompt.description or prompt.title or "", _MAX_DESCRIPTION)
    values = tuple(PromptArgument(each.name, bool(each.required)) for each in arguments)
    return ListedPrompt(prompt.name, about, values)


def listed_resource(resource: "Resource") -> ListedResource | None:
    """A resource of the SDK; None if no user can mention it."""
    if not _is_usable(resource.uri, MAX_URI):
        return None
    name = shorten(resource.title or resource.name, MAX_NAME)
    return ListedResource(resource.uri, name, shorten(resource.description or "", _MAX_DESCRIPTION))


def _is_usable(name: str, most: int) -> bool:
    # what is not printable cannot be typed, and could look like another name
    return bool(name.strip()) and len(name) <= most and name.isprintable()
