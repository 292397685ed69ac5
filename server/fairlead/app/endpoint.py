"""Chooses the endpoint of the model: from the settings, the credentials and the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from fairlead.models.common.endpoint import Api, Cloud, Endpoint, host_of
from fairlead.models.common.presets import DEFAULT, EndpointSpec, preset_at, presets
from fairlead.session.model_selection import BY_SETTINGS, ModelSelection
from fairlead.session.settings import Settings

NO_SUCH_ENDPOINT = "There is no endpoint “{name}”. The setting endpoint must be one of: {names}."
NO_ADDRESS = "No address is set for {title}. Set {variable} or the setting baseUrl."
OWN_VARIABLE = "the variable that its `keyVariable` names (setting endpoints)"
NO_MODEL = (
    "No model is chosen for {title}. In VS Code run “Agent: Choose Model”; in a terminal use --model. "
    "`fairlead models` lists them."
)


NO_CLOUD_MODEL = (
    "No model is chosen for {title}, which does not list its models. Give the name that a model has there, in VS Code "
    "with “Agent: Set Up Model”, in a terminal with --model."
)


@dataclass(frozen=True)
class Credentials:
    """The keys and the address that a front end was given. Never logged or stored, and not shown by repr."""

    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """By the endpoint's name."""
    auth_token: str | None = None
    """For Anthropic, in place of the key."""
    base_url: str | None = None

    def __repr__(self) -> str:
        return "Credentials(...)"


def endpoint_specs(settings: Settings) -> dict[str, EndpointSpec]:
    """The endpoints that can be chosen: those that Fairlead knows, and those of the settings."""
    return {**presets(), **settings.endpoints}


def default_endpoint(settings: Settings, credentials: Credentials, env: Mapping[str, str] = os.environ) -> str:
    """The name of the endpoint that the settings choose.

    If they name none, their base URL decides, else the keys and the addresses that there are: Anthropic's, else
    OpenAI's.
    """
    if settings.endpoint:
        return settings.endpoint
    if address := credentials.base_url or settings.base_url:
        found = preset_at(address)
        return found.name if found else DEFAULT
    for spec in (presets()[DEFAULT], presets()["openai"]):
        given = [
            credentials.keys.get(spec.name),
            *(env.get(name) for name in (*spec.key_variables, spec.address_variable)),
        ]
        if spec.name == DEFAULT:
            given += [credentials.auth_token, env.get("ANTHROPIC_AUTH_TOKEN")]
        if any(given):
            return spec.name
    return DEFAULT


def choose_endpoint(
    settings: Settings,
    credentials: Credentials,
    env: Mapping[str, str] = os.environ,
    selection: ModelSelection = BY_SETTINGS,
) -> Endpoint:
    """The endpoint of the model that the user has selected, or that the settings choose.

    The settings `baseUrl` and `model` are those of the endpoint that the settings choose, so another one has its own.
    Keys come from the credentials, else from the environment. The base URL comes from the credentials, else from the
    settings, else from the environment. A cloud gets neither a key nor ANTHROPIC_BASE_URL, because these belong to the
    Anthropic API.
    """
    default = default_endpoint(settings, credentials, env)
    name = selection.endpoint or default
    if name != default:
        credentials = replace(credentials, base_url=None)
        settings = replace(settings, endpoint=name, base_url="", model="")
    specs = endpoint_specs(settings)
    spec = specs.get(name) or EndpointSpec(name, name)
    replaced = credentials.base_url or settings.base_url
    own = _own_address(spec)
    base_url = replaced or own or env.get(spec.address_variable, "") or spec.base_url
    at_provider = spec.kind == "hosted" and host_of(base_url) is not None and host_of(base_url) == host_of(_usual(spec))
    api_key, auth_token = _keys(spec, settings, credentials, env)
    model = selection.model or settings.model or (next(iter(spec.models)) if len(spec.models) == 1 else "")
    api = _api(spec, settings, at_provider=at_provider, is_replaced=bool(replaced))
    # a server of unknown kind probably has other models than the provider
    is_asked = spec.kind == "local" or api is None or (spec.name not in presets() and not spec.model)
    fallback = spec.model if not model else ""
    if not is_asked:
        model, fallback = model or fallback, ""
    endpoint = Endpoint(
        model=model,
        max_tokens=settings.max_tokens,
        effort=(settings.effort if selection.effort is None else selection.effort) or None,
        base_url=None if spec.name == DEFAULT and base_url == _usual(spec) else base_url,
        api_key=api_key,
        auth_token=auth_token,
        cloud=_cloud(spec, settings),
        max_silence=settings.max_silence_seconds,
        api=api,
        headers=tuple(spec.headers.items()),
        name=name,
        title=spec.title,
        api_path=spec.api_path if at_provider or not _usual(spec) else "/v1",
        at_provider=at_provider,
        needs_key=at_provider,
        key_variable=next(iter(spec.key_variables), OWN_VARIABLE),
        fallback_model=fallback,
        problem=_problem(spec, base_url, model, specs, is_asked=is_asked),
    )
    # only its address says what is there
    return (
        replace(endpoint, title=str(endpoint.shown_url)) if name == DEFAULT and not endpoint.is_anthropic else endpoint
    )


def _usual(spec: EndpointSpec) -> str:
    """The address of the provider; empty if the endpoint is not one of those that Fairlead knows."""
    preset = presets().get(spec.name)
    return preset.base_url if preset else ""


def _own_address(spec: EndpointSpec) -> str:
    """The address that the user's settings give to the endpoint; empty if they give none."""
    return spec.base_url if spec.base_url != _usual(spec) else ""


def _keys(
    spec: EndpointSpec, settings: Settings, credentials: Credentials, env: Mapping[str, str]
) -> tuple[str | None, str | None]:
    """The key, and the token in place of it."""
    if spec.kind == "cloud":
        return None, None
    key = credentials.keys.get(spec.name)
    if spec.name == DEFAULT and not (key or credentials.auth_token):
        return env.get("ANTHROPIC_API_KEY"), env.get("ANTHROPIC_AUTH_TOKEN")
    key = key or next(filter(None, map(env.get, spec.key_variables)), None)
    if not key and not settings.endpoint:  # the user chose an address, and has one key for whatever it is
        key = credentials.keys.get(DEFAULT)
    return key, credentials.auth_token if spec.name == DEFAULT else None


def _api(spec: EndpointSpec, settings: Settings, *, at_provider: bool, is_replaced: bool) -> Api | None:
    """The API of an endpoint; None: it is found out.

    Another address than the provider's may have another API, if the user has set neither the API nor the endpoint.
    `OPENAI_BASE_URL` is where any server that is compatible with OpenAI is.
    """
    preset = presets().get(spec.name)
    if preset is None or spec.kind != "hosted" or spec.api != preset.api or at_provider:
        return spec.api
    return None if spec.api == "responses" or (is_replaced and not settings.endpoint) else spec.api


def _cloud(spec: EndpointSpec, settings: Settings) -> Cloud | None:
    if spec.kind != "cloud":
        return None
    provider = cast("Literal['bedrock', 'vertex']", spec.name)
    return Cloud(provider, settings.cloud.region.strip(), settings.cloud.project.strip())


def _problem(
    spec: EndpointSpec, base_url: str, model: str, specs: Mapping[str, EndpointSpec], *, is_asked: bool
) -> str:
    if spec.name not in specs:
        return NO_SUCH_ENDPOINT.format(name=spec.name, names=", ".join(specs))
    if not base_url and spec.kind != "cloud":
        return NO_ADDRESS.format(title=spec.title, variable=spec.address_variable)
    text = NO_CLOUD_MODEL if spec.kind == "cloud" else NO_MODEL
    return "" if model or is_asked else text.format(title=spec.title)
