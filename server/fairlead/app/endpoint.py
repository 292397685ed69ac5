"""Chooses the endpoint of the model: from the settings, the credentials and the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from fairlead.models.common.endpoint import Cloud, Endpoint
from fairlead.session.settings import Settings


@dataclass(frozen=True)
class Credentials:
    """The keys and the address that a front end was given. Never logged or stored, and not shown by repr."""

    api_key: str | None = None
    auth_token: str | None = None
    base_url: str | None = None

    def __repr__(self) -> str:
        return "Credentials(...)"


def choose_endpoint(settings: Settings, credentials: Credentials) -> Endpoint:
    """The endpoint of the model that the settings name.

    Keys come from the credentials, else from the environment. The base URL comes from the credentials, else from the
    settings, else from the environment. A cloud gets neither a key nor ANTHROPIC_BASE_URL, because these belong to the
    Anthropic API.
    """
    env: Mapping[str, str] = os.environ
    api_key, auth_token, cloud = credentials.api_key, credentials.auth_token, None
    if settings.provider != "anthropic":
        cloud = Cloud(settings.provider, settings.cloud.region.strip(), settings.cloud.project.strip())
        api_key, auth_token, env = None, None, dict[str, str]()
    elif not (api_key or auth_token):
        api_key, auth_token = env.get("ANTHROPIC_API_KEY"), env.get("ANTHROPIC_AUTH_TOKEN")
    return Endpoint(
        model=settings.model,
        max_tokens=settings.max_tokens,
        effort=settings.effort or None,
        base_url=credentials.base_url or settings.base_url or env.get("ANTHROPIC_BASE_URL") or None,
        api_key=api_key or None,
        auth_token=auth_token or None,
        cloud=cloud,
        max_silence=settings.max_silence_seconds,
    )
