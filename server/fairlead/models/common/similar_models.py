"""Finds names that are similar to an unknown model's, among those that its server has."""

from collections.abc import Iterable
from difflib import get_close_matches

from fairlead.agent.errors import Help, ModelError
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.models_list import list_models

TIMEOUT = 3.0
"""Seconds for the list. The user is waiting for the error."""
MOST = 3
HAS = "Its server has {names}."


async def with_similar_models(error: ModelError, endpoint: Endpoint) -> ModelError:
    """The error; one about an unknown model with the similar names, if its server lists its models."""
    if error.kind != "unknown_model" or endpoint.cloud is not None:
        return error
    try:
        listed = await list_models(endpoint, TIMEOUT)
    except ModelError:
        return error
    names = similar_names(endpoint.model, [model.name for model in listed])
    if not names:
        return error
    message = f"{error.message} {HAS.format(names=', '.join(names))}"
    return ModelError(error.kind, message, help=Help(models=tuple(names)))


def similar_names(name: str, names: Iterable[str]) -> list[str]:
    """The names that are similar, the most similar first; all names if they are few. The name itself is never there.

    What a server writes before the last slash, such as the provider, need not be similar.
    """
    others = [each for each in names if each != name]
    by_form = {_form(each): each for each in reversed(others)} | {each.lower(): each for each in reversed(others)}
    forms = get_close_matches(name.lower(), by_form, MOST * 2)
    forms += get_close_matches(_form(name), by_form, MOST * 2)
    found = list(dict.fromkeys(by_form[form] for form in forms))[:MOST]
    return found or (others if len(others) <= MOST else [])


def _form(name: str) -> str:
    return name.lower().rpartition("/")[2]
