"""The list of prices and windows, whose rows are found by the model's name without its version."""

import pytest

from fairlead.agent.model import Usage
from fairlead.models.common.presets import presets
from fairlead.models.common.prices import price_list, price_of, window_of


def test_a_usage_is_priced_by_the_model() -> None:
    """Prices are in US dollars per million tokens, and cached tokens have their own. A name with a date has the prices
    of the name without it.
    """
    usage = Usage(1, input_tokens=100_000, cache_read_tokens=1_000_000, cache_write_tokens=10_000, output_tokens=5000)
    price = price_of("claude-sonnet-5-5-20261001")
    assert price is not None
    assert price.of(usage) == pytest.approx(0.375)


@pytest.mark.parametrize(
    "name",
    [
        "us.anthropic.claude-sonnet-5-5-20260901-v1:0",
        "global.anthropic.claude-sonnet-5-5-20260901-v1:0",
        "anthropic.claude-sonnet-5-5-20260901-v1:0",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5-5-20260901-v1:0",
        "anthropic.claude-sonnet-5-5-20260901-v1:0:200k",
        "anthropic.claude-sonnet-5-5-v1",
        "claude-sonnet-5-5@20260901",
        "claude-sonnet-5-5@default",
        "claude-sonnet-5-5-20260901",
        "claude-sonnet-5-5-latest",
        "claude-sonnet-5-5[1m]",
        "claude-sonnet-5-5-20260901[1m]",
    ],
)
def test_a_version_of_a_model_is_recognized(name: str) -> None:
    """Its name may have a date, Bedrock's region and version, the form of an ARN, or the suffix for a longer window."""
    assert price_of(name) == price_of("claude-sonnet-5-5") is not None
    assert window_of(name) == window_of("claude-sonnet-5-5")


def test_a_version_of_another_providers_model_is_recognized() -> None:
    """OpenAI's dates have hyphens."""
    assert price_of("gpt-6.1-sol-2026-09-29") == price_of("gpt-6.1-sol") != price_of("gpt-6-sol")


def test_every_row_is_complete() -> None:
    """Each model of the list has a price and a window, and the list has a date."""
    assert price_list().date.startswith("20")
    assert set(price_list().endpoints) <= set(presets())
    for name in price_list().rows:
        assert price_of(name) is not None
        assert (window_of(name) or 0) > 0


@pytest.mark.parametrize("name", ["claude-opus-5-50", "claude-opus-5-5-1", "claude-opus-5-5-mini-20270101"])
def test_another_model_with_a_longer_name_has_no_price(name: str) -> None:
    """The price of the listed model may be wrong for it. The window of the listed model is used, because a window that
    is too small does less harm than none.
    """
    assert price_of(name) is None
    assert window_of(name) == window_of("claude-opus-5-5")


def test_an_unknown_model_has_no_price_and_no_window() -> None:
    """For such a model, only tokens are counted, and the window is learned from refusals."""
    assert (price_of("some-local-model"), window_of("some-local-model")) == (None, None)


@pytest.mark.parametrize("name", ["anthropic", "openai", "gemini", "mistral"])
def test_the_default_model_of_an_endpoint_has_a_price(name: str) -> None:
    """A budget in dollars works without a choice of a model."""
    assert presets()[name].model in price_list().endpoints[name]
