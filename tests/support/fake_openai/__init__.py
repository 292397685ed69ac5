"""The strict stand-in for OpenAI and compatible servers: a real HTTP server on loopback that plays a script.

It has Chat Completions and Responses, and refuses what they refuse. The scripts are those of `support.fake_api`.
"""

from .server import CHAT, RESPONSES, FakeOpenAi, event_names

__all__ = ["CHAT", "RESPONSES", "FakeOpenAi", "event_names"]
