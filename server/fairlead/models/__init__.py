"""Implementations of the model port: `anthropic` (the Messages API) and `replay` (a recorded conversation)."""
