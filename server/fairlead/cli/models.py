"""`fairlead models`: lists the models that can be chosen, by endpoint."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.text import Text

from fairlead.app.settings import ignored_values, read_settings
from fairlead.cli.client import AgentClient, ServerExited, StartServer
from fairlead.cli.headless.outcome import DONE, NOT_DONE
from fairlead.cli.options import ModelsOptions
from fairlead.cli.view.terminal import Terminal
from fairlead.display import escape_to_one_line
from fairlead.models.common.presets import DEFAULT, presets
from fairlead.wire import protocol as wire
from fairlead.workspace.paths import Roots


async def run_models(options: ModelsOptions, terminal: Terminal, start_server: StartServer) -> int:
    """Lists the models. Returns the exit code: 0, or 1 if the endpoint that was named could not be asked."""
    client = AgentClient(Roots.of(Path(os.getcwd())), _ignore, {}, start_server)
    try:
        await client.start(options.settings)
        result: wire.ModelsResult = await client.request(wire.MODELS, {})
    except (wire.RequestError, ServerExited, OSError) as error:
        terminal.print(str(error), "red")
        return NOT_DONE
    finally:
        await asyncio.shield(client.stop())
    problems = read_settings(options.settings)[1]
    if problems and not options.as_json:
        terminal.print(escape_to_one_line(ignored_values(problems)), "yellow")
    is_named = bool(options.endpoint or options.base_url)
    endpoints = result["endpoints"][:1] if is_named else result["endpoints"]
    if options.as_json:
        # one line would be wrapped; JSON escapes everything that could control the terminal
        terminal.console.print(Text(json.dumps(endpoints, indent=2)), soft_wrap=True)
    else:
        for endpoint in endpoints:
            _show(endpoint, terminal)
    return NOT_DONE if is_named and (endpoints[0]["problem"] or endpoints[0]["needsKey"]) else DONE


def _ignore(method: str, params: dict[str, Any]) -> None:
    """No notification is about models."""


def _show(endpoint: wire.EndpointWire, terminal: Terminal) -> None:
    local = f" {terminal.marks.note} local" if endpoint["local"] else ""
    # a server that only has an address would get the API of the endpoint that is named
    is_address = endpoint["name"] == DEFAULT and "://" in endpoint["title"]
    option = "--base-url" if is_address else f"--endpoint {endpoint['name']}"
    terminal.print(f"{escape_to_one_line(endpoint['title'])} ({option}){local}", "bold")
    spec = presets().get(endpoint["name"])
    if endpoint["needsKey"] and not endpoint["problem"]:
        variable = next(iter(spec.key_variables), "") if spec else ""
        terminal.print(f"  needs a key{f': set {variable}' if variable else ''}", "yellow")
    if spec and spec.kind == "cloud" and not endpoint["models"]:
        terminal.print("  does not list its models: give the name that a model has there with --model")
    if endpoint["problem"]:
        terminal.print(f"  {escape_to_one_line(endpoint['problem'])}", "red")
    for model in endpoint["models"]:
        words = f" {terminal.marks.note} ".join([escape_to_one_line(model["name"]), *_facts(model)])
        terminal.print(f"  {words}")


def _facts(model: wire.ModelWire) -> Iterator[str]:
    if model["contextTokens"] is not None:
        yield f"{model['contextTokens']:,} tokens"
    if model["inputPrice"] is not None and model["outputPrice"] is not None:
        yield f"${model['inputPrice']:g} in, ${model['outputPrice']:g} out"
    if model["tools"] is False:
        yield "no tools"
    if model["efforts"]:
        yield f"effort {', '.join(map(escape_to_one_line, model['efforts']))}"
