"""What the user chooses for the agent of another maker that works in a session."""

from fairlead.hosted_agents.agents import AgentError
from fairlead.session.errors import RequestRefused
from fairlead.session.session import Session


async def set_agent_option(session: Session, option_id: str, value: str) -> None:
    """Sets an option of the agent that runs in a session, now and after a restart.

    Raises:
        RequestRefused: there is no such option or value, or it cannot be set.
    """
    try:
        await session.hosted.set_option(option_id, value)
    except AgentError as error:
        raise RequestRefused(str(error)) from error
    session.publish()
