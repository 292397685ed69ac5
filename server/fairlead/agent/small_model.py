"""A second model for small work, such as summaries and titles."""

from contextlib import aclosing
from dataclasses import dataclass

from fairlead.agent.errors import ModelError
from fairlead.agent.meter import Account
from fairlead.agent.model import Model, Reply, Request, Retrying, Used

NO_ANSWER = "The model's stream ended without an answer."


@dataclass(frozen=True, slots=True)
class SmallModel:
    """A model for work that the run's model could also do."""

    model: Model
    account: Account

    async def ask(self, request: Request) -> Reply:
        """Sends a request and returns the answer.

        Raises:
            ModelError: the first attempt failed. There is no second one, because the caller can do without.
        """
        async with aclosing(self.model.stream(request)) as stream:
            async for event in stream:
                match event:
                    case Used(usage):
                        self.account.add(usage)
                    case Retrying(error=error):
                        raise error
                    case Reply():
                        return event
                    case _:
                        pass
        raise ModelError("internal", NO_ANSWER)
