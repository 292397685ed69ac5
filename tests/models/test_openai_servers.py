"""Chat Completions at servers that differ from each other (tests/support/fake_openai/fixtures/servers.yaml)."""

import pytest

from fairlead.agent.model import Reply
from fairlead.messages.history import History
from fairlead.messages.images import image_of
from fairlead.messages.parts import Call as CallPart
from fairlead.messages.parts import Note, Prompt, Result
from fairlead.messages.parts import Text as TextPart
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.openai.chat import ChatModel
from models.asking import asked, no_pause
from support.fake_api import Call, Text, Thinking, Turn
from support.fake_openai import FakeOpenAi
from support.fake_openai.chat import servers
from support.pictures import png

WORK = Turn((Thinking("Hm."), Text("I look."), Call("bash", {"command": "ls"}), Call("bash", {"command": "pwd"})))


def begun() -> History:
    """A conversation that another model began, with pictures and a long id."""
    history = History()
    history.add_user_message([Prompt("Look."), image_of("image/png", png(8, 8))])
    (call,) = history.add_reply([TextPart("I look."), CallPart("toolu_" + "x" * 60, "bash", {"command": "ls"})])
    history.add_results([Result(call.id, "A", images=(image_of("image/png", png(8, 8)),))])
    history.add_to_user_message([Note("reminder", "Update your todos.")])
    return history


@pytest.mark.parametrize("server", servers())
async def test_a_conversation_goes_on_at_each_server(server: str) -> None:
    """What a server refuses is changed once, and from then on each request has the form that it accepts."""
    history = begun()
    with FakeOpenAi([WORK, WORK, WORK, Turn((Text("Done."),))], server=server) as api:
        model = ChatModel(Endpoint("m", 1000, "low", api.base_url, "test-key", None), no_pause)
        said = ""
        for _ in range(4):
            reply = [event async for event in model.stream(asked(*history.messages))][-1]
            assert isinstance(reply, Reply)
            calls = history.add_reply(reply.parts)
            history.add_results([Result(call.id, "ok") for call in calls])
            history.add_to_user_message([Note("reminder", "Update your todos.")])
            said = reply.text
        assert said == "Done."
        assert sorted(set(api.refusals)) == sorted(api.refusals)
        await model.aclose()
        assert len(api.requests) == 4 + len(api.refusals)
        # the refusals are at the beginning: nothing is tried again later
        bodies = [request.body for request in api.requests]
        assert {tuple(body) for body in bodies[len(api.refusals) :]} == {tuple(bodies[-1])}
