"""The endpoints that Fairlead knows, from presets.json: their addresses, the variables for their keys, their models."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal

from fairlead.models.common.endpoint import Api, host_of
from fairlead.models.common.prices import Price

DEFAULT = "anthropic"
Kind = Literal["hosted", "cloud", "local", "own"]
"""`hosted`: a provider's API with a key. `cloud`: a cloud with its own sign-in. `local`: a server on this machine.

`own`: only the user's settings describe it.
"""


@dataclass(frozen=True)
class ModelFacts:
    """What is known about a model of an endpoint."""

    context_tokens: int = 0
    """The size of its window; 0: unknown."""
    price: Price | None = None
    efforts: tuple[str, ...] = ()
    """The levels of effort that it has; empty: none, or unknown."""


@dataclass(frozen=True)
class EndpointSpec:
    """A known endpoint, or one in the user's settings."""

    name: str
    title: str
    kind: Kind = "own"
    api: Api | None = None
    """None: it is found out from the server."""
    base_url: str = ""
    """Empty: the address of Anthropic or of the cloud, or there must be another one."""
    api_path: str = "/v1"
    """Where the API is if the address does not say it."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    key_variables: tuple[str, ...] = ()
    """The environment variables that may contain the key, the first one first."""
    address_variable: str = ""
    """The environment variable that may contain another base URL; empty: none."""
    model: str = ""
    """The model that is asked if the user has chosen none; empty: they must choose one."""
    models: Mapping[str, ModelFacts] = field(default_factory=dict[str, ModelFacts])
    """What the user's settings say about its models, by their names."""
    reports_cost: bool = False
    """Whether it says what each request costs."""
    key_prefixes: tuple[str, ...] = ()
    """How its keys begin, if those of no other endpoint begin so."""
    account_url: str = ""
    """The page where the user adds credit; empty: none."""


@cache
def presets() -> Mapping[str, EndpointSpec]:
    """The known endpoints by name, in the order in which they are offered."""
    rows = json.loads((files("fairlead.models") / "presets.json").read_text(encoding="utf-8"))
    return {
        name: EndpointSpec(
            name=name,
            title=row["title"],
            kind=row.get("kind", "hosted"),
            api=row.get("api"),
            base_url=row.get("baseUrl", ""),
            api_path=row.get("apiPath", "/v1"),
            key_variables=tuple(row.get("keyVariables", ())),
            address_variable=row.get("addressVariable", ""),
            model=row.get("model", ""),
            reports_cost=row.get("reportsCost", False),
            key_prefixes=tuple(row.get("keyPrefixes", ())),
            account_url=row.get("accountUrl", ""),
        )
        for name, row in rows.items()
    }


def preset_at(base_url: str) -> EndpointSpec | None:
    """The provider that an address belongs to; None if it is none that Fairlead knows."""
    host = host_of(base_url)
    hosted = (spec for spec in presets().values() if spec.kind == "hosted")
    return next((spec for spec in hosted if host is not None and host_of(spec.base_url) == host), None)


def preset_of_key(key: str) -> EndpointSpec | None:
    """The provider that a key belongs to by its form; None if the form does not tell."""
    return next((spec for spec in presets().values() if spec.key_prefixes and key.startswith(spec.key_prefixes)), None)
