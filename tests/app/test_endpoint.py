"""Which server is asked for which model, with which key: from the settings, the credentials and the environment."""

from typing import Any

import pytest

from fairlead.agent.errors import ModelError
from fairlead.app.endpoint import Credentials, choose_endpoint, default_endpoint
from fairlead.app.settings import read_settings
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.presets import presets
from fairlead.models.common.prices import Price

WORK = {"endpoints": {"work": {"baseUrl": "https://models.example/v1/", "keyVariable": "WORK_KEY"}}}


def chosen(settings: dict[str, Any], env: dict[str, str] | None = None, **keys: str) -> Endpoint:
    read, problems = read_settings(settings)
    assert problems == []
    return choose_endpoint(read, Credentials(keys), env or {})


def refusal(endpoint: Endpoint) -> str:
    with pytest.raises(ModelError) as error:
        endpoint.check()
    return error.value.message


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({}, "anthropic"),
        ({"OPENAI_API_KEY": "o"}, "openai"),
        ({"OPENAI_BASE_URL": "http://localhost:1"}, "openai"),
        ({"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}, "anthropic"),
        ({"OPENAI_API_KEY": "o", "ANTHROPIC_AUTH_TOKEN": "a"}, "anthropic"),
        ({"OPENAI_API_KEY": "o", "ANTHROPIC_BASE_URL": "http://localhost:1"}, "anthropic"),
        ({"MISTRAL_API_KEY": "m"}, "anthropic"),
    ],
)
def test_without_a_setting_the_environment_decides(env: dict[str, str], name: str) -> None:
    """Anthropic's variables come first, then OpenAI's. Other keys choose nothing."""
    assert default_endpoint(read_settings({})[0], Credentials(), env) == name


def test_a_saved_key_decides_like_one_of_the_environment() -> None:
    """A key for Anthropic counts more than OpenAI's variable, and a saved key more than the same one's variable."""
    assert chosen({}, {"OPENAI_API_KEY": "o"}, anthropic="a").api_key == "a"
    assert chosen({}, {"OPENAI_API_KEY": "o"}, openai="saved").api_key == "saved"


def test_a_named_endpoint_has_its_own_key_address_and_model() -> None:
    """Nobody else's key is used, and the model is the endpoint's default."""
    env = {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_BASE_URL": "http://localhost:1", "GOOGLE_API_KEY": "g"}
    found = chosen({"endpoint": "gemini"}, env, anthropic="a")
    assert (found.api_key, found.api, found.title) == ("g", "chat", "Google Gemini")
    assert found.openai_url == "https://generativelanguage.googleapis.com/v1beta/openai"
    assert found.model == presets()["gemini"].model
    assert chosen({"endpoint": "gemini"}, {**env, "GEMINI_API_KEY": "first"}).api_key == "first"
    assert chosen({"endpoint": "gemini", "model": "m"}, env).model == "m"


@pytest.mark.parametrize("name", presets())
def test_a_preset_says_what_is_missing(name: str) -> None:
    """Without a key, an address or a model, nothing is sent, and the message names what to set.

    A cloud signs in, and a local server is asked for its model.
    """
    spec, settings = presets()[name], {"endpoint": name, "model": "m"}
    if spec.kind in ("cloud", "local"):
        chosen(settings).check()
        assert ("does not list its models" in chosen({"endpoint": name}).problem) == (spec.kind == "cloud")
    elif spec.base_url:
        assert spec.key_variables[0] in refusal(chosen(settings))
        chosen(settings, {spec.key_variables[0]: "k"}).check()
    else:
        assert spec.address_variable in refusal(chosen(settings))
        chosen(settings, {spec.address_variable: "https://a.example"}).check()
    if not spec.model and spec.base_url and spec.kind == "hosted":
        assert "No model is chosen" in refusal(chosen({"endpoint": name}, dict.fromkeys(spec.key_variables, "k")))


def test_an_unknown_endpoint_is_refused_with_the_names_of_the_others() -> None:
    """A mistyped name asks nobody."""
    assert "no endpoint “opnai”" in refusal(chosen({"endpoint": "opnai"}, {"OPENAI_API_KEY": "o"}))


ADDRESSES = [
    ({"baseUrl": "http://localhost:4000"}, {}, None),
    ({"endpoint": "anthropic", "baseUrl": "http://localhost:4000"}, {}, "messages"),
    ({}, {"ANTHROPIC_BASE_URL": "http://localhost:4000"}, "messages"),
    ({"baseUrl": "https://api.anthropic.com/v1"}, {}, "messages"),
    ({"baseUrl": "https://api.openai.com"}, {}, "responses"),
    ({"baseUrl": "https://openrouter.ai/api"}, {}, "chat"),
    ({"endpoint": "openai"}, {"OPENAI_BASE_URL": "http://localhost:4000"}, None),
    ({"endpoint": "openai", "baseUrl": "http://localhost:4000"}, {}, None),
    ({"endpoint": "openai", "endpoints": {"openai": {"api": "chat", "baseUrl": "http://a/v1"}}}, {}, "chat"),
    ({"endpoint": "mistral", "baseUrl": "http://localhost:4000"}, {}, "chat"),
    ({"endpoint": "ollama", "baseUrl": "http://box.local:11434"}, {}, "chat"),
    ({"endpoint": "work", **WORK}, {}, None),
]


@pytest.mark.parametrize(("settings", "env", "api"), ADDRESSES)
def test_the_api_is_found_out_where_the_address_does_not_say_it(
    settings: dict[str, Any], env: dict[str, str], api: str | None
) -> None:
    """A server at a base URL alone, or one that is only compatible with OpenAI, may have any API."""
    assert chosen(settings, env).api == api


def test_the_key_of_the_provider_at_an_address_is_used() -> None:
    """A base URL is enough to choose a provider. Its key in the environment goes there, and Anthropic's does not."""
    env = {"OPENROUTER_API_KEY": "r", "ANTHROPIC_API_KEY": "a"}
    assert chosen({"baseUrl": "https://openrouter.ai/api/v1"}, env).api_key == "r"
    assert chosen({"baseUrl": "https://openrouter.ai/api/v1"}, {"ANTHROPIC_API_KEY": "a"}).api_key is None
    assert chosen({"baseUrl": "http://localhost:4000"}, env).api_key == "a"


@pytest.mark.parametrize(
    ("base_url", "messages", "openai"),
    [
        ("http://h:1", "http://h:1", "http://h:1/v1"),
        ("http://h:1/", "http://h:1", "http://h:1/v1"),
        ("http://h:1/v1", "http://h:1", "http://h:1/v1"),
        ("http://h:1/v1/", "http://h:1", "http://h:1/v1"),
        ("http://h:1/v1/chat/completions", "http://h:1", "http://h:1/v1"),
        ("http://h:1/v1/messages", "http://h:1", "http://h:1/v1"),
        ("https://h/api", "https://h/api", "https://h/api/v1"),
        ("https://h/api/v1", "https://h/api", "https://h/api/v1"),
        ("https://h/api/paas/v4", "https://h/api/paas/v4", "https://h/api/paas/v4"),
        ("https://h/v1beta/openai/", "https://h/v1beta/openai", "https://h/v1beta/openai"),
        ("https://h/openai/deployments/d", "https://h/openai/deployments/d", "https://h/openai/deployments/d"),
        ("https://u:p@h/v1", "https://u:p@h", "https://u:p@h/v1"),
        (
            "https://models.github.ai/inference",
            "https://models.github.ai/inference",
            "https://models.github.ai/inference",
        ),
        ("no address", "no address", "no address"),
    ],
)
def test_a_base_url_works_with_or_without_its_end(base_url: str, messages: str, openai: str) -> None:
    """Each SDK gets the form that it expects, whatever the user pasted."""
    found = chosen({"endpoint": "work", "endpoints": {"work": {"baseUrl": "http://h"}}, "baseUrl": base_url})
    assert (found.messages_url, found.openai_url) == (messages, openai)


@pytest.mark.parametrize(
    ("name", "base_url", "openai"),
    [
        ("azure", "https://a.openai.azure.com/", "https://a.openai.azure.com/openai/v1"),
        ("azure", "https://a.openai.azure.com/openai", "https://a.openai.azure.com/openai/v1"),
        ("azure", "https://a.openai.azure.com/openai/v1/", "https://a.openai.azure.com/openai/v1"),
        ("azure", "https://a.azure.com/openai/deployments/d", "https://a.azure.com/openai/deployments/d"),
        ("openrouter", "https://openrouter.ai", "https://openrouter.ai/api/v1"),
        ("openrouter", "https://openrouter.ai/api", "https://openrouter.ai/api/v1"),
        ("openrouter", "http://localhost:4000", "http://localhost:4000/v1"),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta", None),
        ("gemini", "https://generativelanguage.googleapis.com", None),
    ],
)
def test_a_provider_has_a_path_of_its_own(name: str, base_url: str, openai: str | None) -> None:
    """It is added as far as it is missing; a gateway at another address has the usual one."""
    expected = openai or "https://generativelanguage.googleapis.com/v1beta/openai"
    assert chosen({"endpoint": name, "baseUrl": base_url}).openai_url == expected


def test_the_address_of_a_gateway_to_a_cloud_stays() -> None:
    """The SDK of a cloud has other paths, so nothing is removed."""
    assert chosen({"endpoint": "vertex", "baseUrl": "https://gateway.example/v1"}).messages_url == (
        "https://gateway.example/v1"
    )


def test_the_settings_describe_an_endpoint_and_its_models() -> None:
    """Prices of cached tokens are those of the input if they are not given."""
    facts = {"contextTokens": 8192, "inputPrice": 1, "outputPrice": 2, "cacheReadPrice": 0.5, "efforts": ["low"]}
    endpoint = {**WORK["endpoints"]["work"], "title": "Work", "headers": {"X-Team": "a"}, "models": {"m": facts}}
    settings, problems = read_settings({"endpoint": "work", "endpoints": {"work": endpoint}})
    assert problems == []
    model = settings.endpoints["work"].models["m"]
    assert (model.context_tokens, model.price, model.efforts) == (8192, Price(1, 0.5, 1, 2), ("low",))
    found = choose_endpoint(settings, Credentials(), {"WORK_KEY": "w"})
    assert (found.model, found.api_key, found.title, found.headers) == ("m", "w", "Work", (("X-Team", "a"),))


def test_a_setting_changes_one_field_of_a_known_endpoint() -> None:
    """The other fields stay."""
    settings, problems = read_settings({"endpoints": {"openai": {"model": "m"}}})
    spec = settings.endpoints["openai"]
    assert (problems, spec.model, spec.api, spec.key_variables) == ([], "m", "responses", ("OPENAI_API_KEY",))


WRONG: list[tuple[str, Any]] = [
    ("work", True),
    ("work", {}),
    ("work", {"baseUrl": "models.example"}),
    ("work", {"baseUrl": "http://a", "key": "secret"}),
    ("work", {"baseUrl": "http://a", "api": "completions"}),
    ("work", {"baseUrl": "http://a", "keyVariable": "A KEY"}),
    ("work", {"baseUrl": "http://a", "headers": {"X-A": "a\r\nX-Evil: b"}}),
    ("work", {"baseUrl": "http://a", "headers": {"X A": "b"}}),
    ("work", {"baseUrl": "http://a", "models": {"m": {"inputPrice": 1}}}),
    ("work", {"baseUrl": "http://a", "models": {"m": {"inputPrice": -1, "outputPrice": 1}}}),
    ("work", {"baseUrl": "http://a", "models": {"m": {"price": 1}}}),
    ("a b", {"baseUrl": "http://a"}),
    ("openai", {"api": "chatty"}),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=map(str, WRONG))
def test_a_wrong_endpoint_is_named_and_left_out(name: str, value: Any) -> None:
    """The other endpoints apply, and no value is quoted, because it may be a key in the wrong place."""
    settings, problems = read_settings({"endpoints": {name: value, "other": {"baseUrl": "http://b"}}})
    assert list(settings.endpoints) == ["other"]
    assert len(problems) == 1 and problems[0].startswith(f"endpoints.{name}")
    assert "secret" not in problems[0]
