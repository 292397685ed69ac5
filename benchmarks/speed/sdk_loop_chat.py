"""For comparison: the smallest agent loop on OpenAI's SDK. Run as `python sdk_loop_chat.py URL FOLDER`."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import openai


async def main() -> None:
    client = openai.AsyncOpenAI(api_key="k", base_url=f"{sys.argv[1]}/v1")
    folder = Path(sys.argv[2])
    messages: list[Any] = [{"role": "user", "content": "go"}]
    while True:
        async with client.chat.completions.stream(model="x", max_tokens=1000, messages=messages) as stream:
            message = (await stream.get_final_completion()).choices[0].message
        messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        if not message.tool_calls:
            return
        for call in message.tool_calls:
            path = json.loads(call.function.arguments)["path"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": (folder / path).read_text()})


asyncio.run(main())
