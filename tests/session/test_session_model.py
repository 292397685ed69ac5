"""What a session knows about its model: its window and its cost, from the settings, Fairlead or the server."""

import pytest

from fairlead.agent.model import Usage
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.presets import ModelFacts
from fairlead.models.common.prices import Price
from fairlead.models.factory import ModelChoice
from fairlead.session.session_model import SessionModel, SpareModel

MILLION = Usage(1, input_tokens=1_000_000)


NOTHING = ModelFacts()


def begun(name: str, facts: ModelFacts = NOTHING, listed: ModelFacts = NOTHING) -> SessionModel:
    choice = ModelChoice(Endpoint(name, 1000, None, "http://127.0.0.1:9", None, None), facts=facts, listed=listed)
    model = SessionModel(lambda: choice, SpareModel())
    model.for_run()
    return model


OWN, LISTED = ModelFacts(9000, Price(7, 7, 7, 7)), ModelFacts(8000, Price(3, 3, 3, 3))


@pytest.mark.parametrize(
    ("name", "known", "cost", "window"),
    [
        ("claude-sonnet-5-5", {}, 2.0, 200_000),
        ("claude-sonnet-5-5", {"facts": OWN}, 7.0, 9000),
        ("claude-sonnet-5-5", {"listed": LISTED}, 3.0, 200_000),
        ("other", {"facts": OWN, "listed": LISTED}, 7.0, 9000),
        ("other", {"listed": LISTED}, 3.0, 8000),
        ("other", {}, None, None),
    ],
)
def test_the_settings_take_precedence(
    name: str, known: dict[str, ModelFacts], cost: float | None, window: int | None
) -> None:
    """Fairlead's window comes before the server's, because the whole window may cost more. The server's price comes
    before Fairlead's, because it is newer.
    """
    model = begun(name, **known)
    assert (model.cost_of(MILLION), model.window.limit) == (cost, window)


def test_the_cost_that_the_server_says_replaces_the_price() -> None:
    """The costs of the requests of a run add up. A request without one adds nothing to the others."""
    said = Usage(1, input_tokens=1_000_000, cost=0.25)
    model = begun("claude-sonnet-5-5", facts=OWN)
    assert model.cost_of(said + said) == 0.5
    assert model.cost_of(said + MILLION) == 0.25
    assert model.cost_of(said + said - said) == 0.25
