"""Replays real history: commits of any repository become the agent's tool calls, and the resulting trees must be equal.

`python benchmarks/history/run.py --repo PATH` runs it. Nothing here imports the server code:
the expected result is computed a second time, in a slower way.
"""
