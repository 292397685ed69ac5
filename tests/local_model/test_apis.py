"""The APIs of a real llama.cpp server, through the models that speak them."""

from collections.abc import Callable

import pytest

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Model
from fairlead.messages.history import History
from fairlead.messages.images import image_of
from fairlead.messages.parts import Message, Part, Prompt, Result
from fairlead.models.anthropic.messages_api import MessagesApiModel
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.openai.chat import ChatModel
from fairlead.models.openai.responses import ResponsesModel
from local_model.asking import ask
from local_model.llama import TOOLS, Llama
from support.pictures import png

each_api = pytest.mark.parametrize("open_model", [MessagesApiModel, ChatModel, ResponsesModel])


def user(*parts: Part) -> Message:
    return Message("user", parts)


@each_api
async def test_a_call_goes_out_and_its_result_comes_back(open_model: Callable[[Endpoint], Model]) -> None:
    """The second request has the call and its result, and what the server still knows of the first."""
    async with Llama(2048, TOOLS) as llama:
        model = open_model(Endpoint("m", 80, "low", f"{llama.url}/v1", None, None))
        history = History()
        history.add_user_message([Prompt("Read plums.txt")])
        _, reply = await ask(model, *history.messages)
        assert (reply.stop, reply.usage.output_tokens > 5) == ("calls", True)
        (call,) = history.add_reply(reply.parts)
        assert (call.name, call.input, call.problem) == ("read_file", {"path": "plums.txt"}, None)
        history.add_results([Result(call.id, "One plum.")])
        pieces, reply = await ask(model, *history.messages)
        assert (reply.stop, "".join(pieces)) == ("done", reply.text)
        assert reply.usage.cache_read_tokens > 0
        await model.aclose()


@each_api
async def test_an_answer_that_reaches_its_limit_is_cut_off(open_model: Callable[[Endpoint], Model]) -> None:
    """The server calls it complete in Responses. A call that was cut off has a problem, so it is not run."""
    async with Llama(2048, TOOLS) as llama:
        model = open_model(Endpoint("m", 17, None, f"{llama.url}/v1", None, None))
        _, reply = await ask(model, user(Prompt("Read plums.txt")))
        assert reply.stop == "cut_off"
        assert all(call.problem for call in reply.calls)
        await model.aclose()


@each_api
async def test_what_does_not_fit_or_is_not_understood_is_refused(open_model: Callable[[Endpoint], Model]) -> None:
    """The sizes are read from the refusal, and a picture is recognized by its text, although the status is 500."""
    async with Llama(2048) as llama:
        model = open_model(Endpoint("m", 80, None, f"{llama.url}/v1", None, None))
        with pytest.raises(ModelError) as failed:
            await ask(model, user(Prompt("word " * 5000)))
        assert (failed.value.kind, failed.value.overflow.window) == ("context_overflow", 2048)
        with pytest.raises(ModelError) as failed:
            await ask(model, user(Prompt("Look."), image_of("image/png", png(8, 8))))
        assert failed.value.kind == "no_images"
        await model.aclose()
