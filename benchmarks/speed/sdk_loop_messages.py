"""For comparison: the smallest agent loop on the SDK's own stream helper.

Run as `python sdk_loop_messages.py URL FOLDER`.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

import anthropic


async def main() -> None:
    client = anthropic.AsyncAnthropic(api_key="k", base_url=sys.argv[1])
    folder = Path(sys.argv[2])
    messages: list[Any] = [{"role": "user", "content": "go"}]
    while True:
        async with client.messages.stream(model="x", max_tokens=1000, messages=messages) as stream:
            message = await stream.get_final_message()
        messages.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": (folder / str(call.input["path"])).read_text()}
            for call in calls
        ]
        messages.append({"role": "user", "content": results})


asyncio.run(main())
