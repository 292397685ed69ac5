"""OpenAI's APIs, Chat Completions and Responses, at OpenAI and at every compatible server."""
