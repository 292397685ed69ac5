"""The models that can be chosen: what the servers list, with what the settings and Fairlead know about them."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from fairlead.agent.errors import ModelError
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.models_list import PROBE, TIMEOUT, ListedModel, list_models
from fairlead.models.common.presets import EndpointSpec, ModelFacts
from fairlead.models.common.prices import price_list, price_of, window_of


@dataclass(frozen=True)
class EndpointModels:
    """An endpoint with its models."""

    name: str
    title: str
    is_local: bool
    needs_key: bool
    """Whether its models cannot be asked without a key, by its kind or its server's answer, and there is none."""
    key_refusal: str
    """What its server said when it refused the key; empty if it did not refuse one."""
    problem: str
    """Why its server could not be asked for its models, and what to do; empty if it was not asked, or answered."""
    answers: bool
    """Whether a model's server answered there, or was not asked."""
    models: tuple[ListedModel, ...]


@dataclass
class ModelCatalog:
    """Remembers what each server listed, until it is asked again."""

    _lists: dict[object, tuple[ListedModel, ...]] = field(default_factory=dict[object, tuple[ListedModel, ...]])

    def facts(self, endpoint: Endpoint) -> ModelFacts:
        """What the server of an endpoint listed about its model; nothing if it was not asked."""
        listed = self._lists.get(_key(endpoint), ())
        return next((model.facts for model in listed if model.name == endpoint.model), ModelFacts())

    async def groups(
        self,
        specs: Mapping[str, EndpointSpec],
        choose: Callable[[str], Endpoint],
        first: str,
        configured: set[str],
        *,
        refresh: bool,
        ask: Collection[str] | None = None,
    ) -> list[EndpointModels]:
        """The endpoints with their models, `first` at the beginning.

        Without those that are not `configured` and need an address or a sign-in, or whose local server does not run.

        Args:
            choose: returns the endpoint with this name.
            first: the name of the endpoint that is in use.
            configured: the names of the endpoints that the user has set up.
            refresh: whether servers are asked that were asked before.
            ask: the names of the endpoints whose servers may be asked. None: all.
        """
        await asyncio.to_thread(price_list)
        if refresh:
            self._lists.clear()
        names = sorted(specs, key=lambda name: name != first)
        found = await asyncio.gather(
            *(
                self._group(
                    specs[name],
                    choose(name),
                    is_wanted=name == first or name in configured,
                    may_ask=ask is None or name in ask,
                )
                for name in names
            )
        )
        return [group for group in found if group is not None]

    async def _group(
        self, spec: EndpointSpec, endpoint: Endpoint, *, is_wanted: bool, may_ask: bool
    ) -> EndpointModels | None:
        has_address = spec.kind == "cloud" or bool(spec.base_url or endpoint.base_url)
        if not is_wanted and (spec.kind == "cloud" or not has_address):
            return None
        listed, problem, key_refusal, needs_key, answers = (), "", "", endpoint.is_without_key, True
        if not has_address:
            problem = endpoint.problem
        elif not may_ask:
            listed = self._lists.get(_key(endpoint), ())
            if not (is_wanted or listed) and spec.kind == "local":
                return None
        elif spec.kind != "cloud" and not endpoint.is_without_key:
            try:
                listed = await self._list(endpoint, TIMEOUT if is_wanted or spec.kind != "local" else PROBE)
            except ModelError as error:
                if not is_wanted and spec.kind == "local":
                    return None
                problem, answers = error.message, error.kind not in ("network", "wrong_server", "proxy")
                key_refusal = error.help.key_refusal
                needs_key = error.kind == "auth" and not endpoint.has_credentials
        return EndpointModels(
            spec.name,
            endpoint.title,
            is_local=endpoint.is_local,
            needs_key=needs_key,
            key_refusal=key_refusal,
            problem=problem,
            answers=answers,
            models=tuple(_merged(spec, endpoint, {model.name: model for model in listed})),
        )

    async def _list(self, endpoint: Endpoint, timeout: float) -> tuple[ListedModel, ...]:
        key = _key(endpoint)
        if key not in self._lists:
            self._lists[key] = await list_models(endpoint, timeout)
        return self._lists[key]


def _key(endpoint: Endpoint) -> object:
    """What the list of an endpoint's models depends on."""
    return endpoint.base_url, endpoint.api_key, endpoint.auth_token, endpoint.headers


def _merged(spec: EndpointSpec, endpoint: Endpoint, listed: dict[str, ListedModel]) -> list[ListedModel]:
    """The models of an endpoint: those that somebody chose or described first, and those with a known price."""
    known = [spec.model, *price_list().endpoints.get(spec.name, ())]
    is_elsewhere = spec.kind == "hosted" and not endpoint.is_hosted  # what the provider has, this server may lack
    is_offered = [name for name in known if name and (name in listed or not (listed or is_elsewhere))]
    chosen = [endpoint.model] if endpoint.model != spec.model and endpoint.model else []
    names = dict.fromkeys([*spec.models, *chosen, *is_offered, *listed])
    return [
        _with_facts(listed.get(name, ListedModel(name, name)), spec.models.get(name, ModelFacts())) for name in names
    ]


def _with_facts(model: ListedModel, own: ModelFacts) -> ListedModel:
    """The model with what the settings, Fairlead and the server know. The server's price is newer than Fairlead's."""
    facts = ModelFacts(
        own.context_tokens or window_of(model.name) or model.facts.context_tokens,
        own.price or model.facts.price or price_of(model.name),
        own.efforts or model.facts.efforts,
    )
    return replace(model, facts=facts)
