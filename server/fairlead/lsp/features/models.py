"""Lists the models that can be chosen, chooses one for a session, and tries one."""

import time

from fairlead.agent.errors import ModelError
from fairlead.lsp import convert
from fairlead.lsp.server import AgentServer
from fairlead.session.model_selection import BY_SETTINGS, ModelSelection
from fairlead.wire import protocol as wire
from fairlead.wire.params import ChooseModelParams, ModelsParams, TryModelParams
from fairlead.wire.states import ChosenModelWire


async def list_models(server: AgentServer, params: ModelsParams) -> wire.ModelsResult:
    """`agent/models`: the models that can be chosen, by endpoint."""
    session_id = params.get("sessionId")
    groups = await server.app.list_models(session_id, refresh=params.get("refresh", False), ask=params.get("ask"))
    selection = (await server.sessions.get(session_id)).selection if session_id else BY_SETTINGS
    chosen = convert.chosen_model(server.context.resolved(selection))
    used = [convert.chosen_model(row.model) for row in server.sessions.rows()]
    recent = [model for index, model in enumerate(used) if model != chosen and model not in used[:index]]
    return {"endpoints": [convert.endpoint_models(group) for group in groups], "chosen": chosen, "recent": recent}


async def choose_model(server: AgentServer, params: ChooseModelParams) -> ChosenModelWire:
    """`agent/models/choose`: the model that the next run of a session asks."""
    selection = _selection(params)
    server.app.check_selection(selection)
    if session_id := params.get("sessionId"):
        (await server.sessions.get(session_id)).select_model(selection)
        server.sessions.update_list()
    return convert.chosen_model(server.context.resolved(selection))


async def try_model(server: AgentServer, params: TryModelParams) -> wire.TryResult:
    """`agent/models/try`: sends a small request to a model, and says what happened."""
    selection, start = _selection(params), time.monotonic()
    server.app.check_selection(selection)
    model = server.context.choose_model(selection).endpoint.model
    try:
        name = await server.app.try_model(selection)
    except ModelError as error:
        return {"model": model, "works": False, "message": error.message, "error": convert.error(error.failure)}
    message = f"{name} answered in {time.monotonic() - start:.1f} seconds."
    return {"model": name, "works": True, "message": message, "error": None}


def _selection(params: TryModelParams) -> ModelSelection:
    return ModelSelection(params.get("endpoint", ""), params.get("model", ""), params.get("effort"))
