"""Addresses and credentials: what is sent, what is refused before it is sent, and what is never shown."""

import logging
from typing import Any

import pytest

from fairlead.agent.errors import ModelError
from fairlead.models.anthropic.messages_api import MessagesApiModel
from fairlead.models.common.endpoint import NO_KEY, Cloud
from fairlead.models.openai.client import provider_of
from models.asking import ANSWER, HELLO, asked, endpoint, events, failure, no_pause, opened, shown
from support.fake_api import (
    FakeApi,
    HttpError,
)


@pytest.mark.parametrize("empty", [None, ""])
async def test_fault_25_without_credentials_nothing_is_sent(empty: str | None) -> None:
    """docs/faults.md 25: an error of kind auth says what to do, before any request."""
    missing = endpoint(api_key=empty, auth_token=empty, base_url=empty, key_variable="ANTHROPIC_API_KEY")
    model = MessagesApiModel(missing)
    with pytest.raises(ModelError) as error:
        model.stream(asked())
    assert (error.value.kind, error.value.message) == ("auth", NO_KEY.format(variable="ANTHROPIC_API_KEY"))
    for word in ("Agent: Set API Key", "ANTHROPIC_API_KEY", "--endpoint", "--base-url"):
        assert word in error.value.message


@pytest.mark.parametrize(
    ("credentials", "sent"),
    [
        ({"api_key": "test-key"}, "Bearer test-key"),
        ({"api_key": None, "auth_token": "test-key"}, "Bearer test-key"),
        ({"api_key": "test-key", "auth_token": "another"}, "Bearer test-key"),
    ],
)
async def test_the_credentials_are_sent(credentials: dict[str, Any], sent: str) -> None:
    """The request contains the key or the token; if both are set, it contains the key."""
    with FakeApi([HELLO]) as api:
        async with opened(api, **credentials) as model:
            await events(model)
        assert api.requests[0].headers["authorization"] == sent


@pytest.mark.parametrize("key", [" test-key", "test-key\n", "\ttest-key \r\n"])
async def test_fault_25_whitespace_around_a_key_is_removed(key: str) -> None:
    """docs/faults.md 25: pasted keys often end with a line break."""
    with FakeApi([HELLO, HELLO]) as api:
        for credentials in ({"api_key": key}, {"api_key": None, "auth_token": key}):
            async with opened(api, **credentials) as model:
                assert shown(await events(model)) == ANSWER


@pytest.mark.parametrize("key", ["SECRET\r\nX-Evil: 1", "SECRET 2", "SECRET\0", "SECRET\u200b", "SECRET日", "SECRETé"])
async def test_fault_25_40_an_impossible_key_is_refused_and_not_shown(key: str) -> None:
    """docs/faults.md 25 and 40: the transport would quote it in its error, so nothing is sent."""
    with FakeApi([HELLO]) as api:
        for credentials in ({"api_key": key}, {"api_key": None, "auth_token": key}):
            model = MessagesApiModel(endpoint(api, **credentials), no_pause)
            with pytest.raises(ModelError) as error:
                model.stream(asked())
            assert (error.value.kind, error.value.retryable) == ("auth", False)
            assert "Agent: Set API Key" in error.value.message
            assert "SECRET" not in repr(error.value)
        assert api.requests == []


ADDRESSES = [
    "localhost:11434",
    "ftp://localhost",
    "http://",
    "http://[bad",
    "http://localhost:99999",
    "http://a\nb",
    "x",
]


@pytest.mark.parametrize("url", ADDRESSES)
async def test_fault_25_an_invalid_address_is_refused_at_once(url: str) -> None:
    """docs/faults.md 25: there are no retries, and the error contains an example of a valid address."""
    model = MessagesApiModel(endpoint(base_url=url), no_pause)
    with pytest.raises(ModelError) as error:
        model.stream(asked())
    assert (error.value.kind, error.value.retryable) == ("wrong_server", False)
    assert error.value.message == f"“{url}” is not a base URL. Set one like http://localhost:11434."


@pytest.mark.parametrize(
    "url", ["http://localhost:11434", "https://h.example/api/", "http://[::1]:8", "http://u:p@h", " http://h\n"]
)
def test_a_valid_address_is_accepted(url: str) -> None:
    """Some of these resemble the invalid ones."""
    endpoint(base_url=url, api_key=None).check()


@pytest.mark.parametrize(
    ("settings", "is_hosted"),
    [
        ({"base_url": None}, True),
        ({"base_url": "https://api.anthropic.com"}, True),
        ({"base_url": "https://api.anthropic.com/v1/"}, True),
        ({"base_url": "http://localhost:1", "cloud": Cloud("bedrock")}, True),
        ({"base_url": "http://localhost:11434"}, False),
        ({"base_url": "https://gateway.example/api"}, False),
        ({"base_url": "http://[bad"}, False),
    ],
)
def test_a_hosted_model_is_distinguished_from_the_users_own(settings: dict[str, Any], is_hosted: bool) -> None:
    """Advice on how to start a server is only for users who run one."""
    assert endpoint(**settings).is_hosted is is_hosted


def test_a_server_on_this_machine_is_recognized() -> None:
    """Its host is a loopback name or address, or 0.0.0.0. Other names and addresses may belong to another machine."""
    here = [
        "http://localhost:1",
        "http://LOCALHOST",
        "http://a.localhost",
        "http://127.1.2.3",
        "http://[::1]:8",
        "http://0.0.0.0:1",
    ]
    elsewhere = ["http://gpu", "http://192.168.1.5:1", "http://localhost.example.com", "http://[bad", None]
    assert {endpoint(base_url=url).is_loopback for url in here} == {True}
    assert {endpoint(base_url=url).is_loopback for url in elsewhere} == {False}


async def test_fault_40_a_password_in_an_address_is_not_shown() -> None:
    """docs/faults.md 40: it is used, but no message contains it."""
    with FakeApi() as api:
        address = api.url.removeprefix("http://")
    async with opened(base_url=f"http://user:SECRET@{address}/v1?x@y") as model:
        failed = await failure(model)
    assert f"No connection to http://{address}/v1" in failed.message
    assert "SECRET" not in failed.message + repr(endpoint(base_url="http://user:SECRET@host/"))


async def test_fault_25_without_a_network_the_error_says_what_to_check() -> None:
    """docs/faults.md 25: the error comes after a limited number of retries, and contains the address. Only the user can
    start a server on this machine, so the retries end sooner than for an API, which may be back after a minute.
    """
    with FakeApi() as api:
        url = api.url
    async with opened(base_url=url) as model:
        failed = await failure(model)
    assert (failed.kind, failed.retryable) == ("network", True)
    assert f"No connection to {url}" in failed.message
    assert "Check whether the server is running, and the base URL" in failed.message
    assert "Fairlead tried 5 times." in failed.message


async def test_a_host_without_an_address_is_named_in_the_same_words_on_each_system() -> None:
    """Without the system's own text, such as `[Errno -2] Name or service not known`."""
    async with opened(base_url="http://no-such-host.invalid/v1") as model:
        failed = await failure(model)
    assert (failed.kind, failed.retryable) == ("network", True)
    assert "no-such-host.invalid was not found. Check the network and the base URL." in failed.message
    assert "Errno" not in failed.message


async def test_fault_40_credentials_are_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    """docs/faults.md 40: they are in no repr, no error and no log, even at the level DEBUG."""
    secrets = {"api_key": "sk-ant-SECRET-1", "auth_token": "SECRET-2"}
    caplog.set_level(logging.DEBUG)
    with FakeApi([HELLO, HttpError(500, "api_error", "oops")], key=secrets["api_key"]) as api:
        end = endpoint(api, **secrets)
        model = MessagesApiModel(end, no_pause)
        await events(model)
        failed = await failure(model)
        await model.aclose()
        wrong = MessagesApiModel(endpoint(api, api_key="sk-ant-SECRET-3"), no_pause)
        refused = await failure(wrong)
        await wrong.aclose()
    assert refused.kind == "auth"
    said = [repr(end), str(end), repr(model), str(failed), repr(failed), str(refused), repr(refused)]
    said += [f"{record.getMessage()} {record.args!r} {record.exc_text}" for record in caplog.records]
    assert caplog.records
    assert not any("SECRET" in text for text in said)


async def test_the_error_for_a_very_long_base_url_is_short() -> None:
    """The error is raised before any request, and quotes only the beginning of the URL."""
    with pytest.raises(ModelError) as error:
        MessagesApiModel(endpoint(base_url="http://" + "x" * 100_000)).stream(asked())
    assert error.value.kind == "wrong_server"
    assert len(error.value.message) < 300


def test_two_local_servers_are_two_providers() -> None:
    """What only one of them can read again, such as sealed thinking, does not go to the other."""
    urls = ["http://localhost:8000/v1", "http://localhost:8080/v1", "http://[::1]:8080/v1", "https://u:p@h.example/v1"]
    marks = [provider_of("chat", endpoint(base_url=url)) for url in urls]
    assert marks == ["chat:localhost:8000", "chat:localhost:8080", "chat:::1:8080", "chat:h.example"]
