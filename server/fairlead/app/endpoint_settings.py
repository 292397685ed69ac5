"""Reads the setting `endpoints` from the wire."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypedDict, TypeVar

from fairlead.json_reader import WrongValue, read
from fairlead.json_values import is_object
from fairlead.models.common.endpoint import host_of
from fairlead.models.common.presets import EndpointSpec, ModelFacts, presets
from fairlead.models.common.prices import Price

T = TypeVar("T")

_NAME = re.compile(r"[\w.-]{1,60}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_VALUE = re.compile(r"[ -~]*")


class _Model(TypedDict, total=False):
    contextTokens: int
    inputPrice: float
    outputPrice: float
    cacheReadPrice: float
    cacheWritePrice: float
    efforts: list[str]


class _Endpoint(TypedDict, total=False):
    title: str
    api: Literal["", "messages", "chat", "responses"]
    baseUrl: str
    headers: Mapping[str, str]
    keyVariable: str
    model: str
    models: Mapping[str, dict[str, Any]]


def read_endpoints(given: Any, problems: list[str]) -> Mapping[str, EndpointSpec]:
    """The valid endpoints by name. Invalid ones are left out and reported in `problems`."""
    if given == []:  # an empty table in Lua
        return {}
    if not is_object(given):
        problems.append("endpoints must be an object")
        return {}
    found: dict[str, EndpointSpec] = {}
    for name, value in given.items():
        try:
            found[name] = _spec(name, value, f"endpoints.{name}")
        except WrongValue as error:
            problems.append(str(error))
    return found


def _spec(name: str, value: Any, path: str) -> EndpointSpec:
    """The endpoint that a value describes. A missing field has the value that the endpoint of this name has, if any."""
    if not _NAME.fullmatch(name):
        raise WrongValue(path, "needs a name of letters, digits, dots, hyphens and underscores")
    given = _checked(_Endpoint, value, path)
    known = presets().get(name, EndpointSpec(name, name))
    base_url = given.get("baseUrl", known.base_url).strip()
    if known.kind == "own" and host_of(base_url) is None:
        raise WrongValue(path, 'needs a "baseUrl" such as "http://localhost:8000/v1"')
    variable = given.get("keyVariable", "")
    if variable and not _VARIABLE.fullmatch(variable):
        raise WrongValue(f"{path}.keyVariable", "must be the name of an environment variable, such as WORK_API_KEY")
    headers = given.get("headers", known.headers)
    if not all(_HEADER.fullmatch(header) and _VALUE.fullmatch(text) for header, text in headers.items()):
        raise WrongValue(f"{path}.headers", 'must have names and values such as {"X-Team": "a"}')
    return replace(
        known,
        title=given.get("title", known.title),
        api=given["api"] or None if "api" in given else known.api,
        base_url=base_url,
        headers=headers,
        key_variables=(variable,) if variable else known.key_variables,
        model=given.get("model", known.model),
        models={
            model: _facts(_checked(_Model, fields, f"{path}.models.{model}"), f"{path}.models.{model}")
            for model, fields in given.get("models", {}).items()
        },
    )


def _checked(kind: type[T], value: Any, path: str) -> T:
    if not is_object(value):
        raise WrongValue(path, "must be an object")
    fields = kind.__annotations__
    if unknown := value.keys() - fields.keys():
        raise WrongValue(path, f"has an unknown field {min(unknown)!r}; use {', '.join(fields)}")
    return read(kind, value, path)


def _facts(given: _Model, path: str) -> ModelFacts:
    numbers = [value for value in given.values() if isinstance(value, int | float)]
    if any(number < 0 for number in numbers):
        raise WrongValue(path, "must have no negative numbers")
    price = None
    if "inputPrice" in given or "outputPrice" in given:
        if not ("inputPrice" in given and "outputPrice" in given):
            raise WrongValue(path, 'needs both "inputPrice" and "outputPrice", in US dollars per million tokens')
        paid = given["inputPrice"]
        cached = given.get("cacheReadPrice", paid), given.get("cacheWritePrice", paid)
        price = Price(paid, *cached, given["outputPrice"])
    return ModelFacts(given.get("contextTokens", 0), price, tuple(given.get("efforts", ())))
