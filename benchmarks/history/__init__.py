"""Replays real history: commits of any repository become the agent's tool calls, and must lead to the same trees.

`python benchmarks/history/run.py --repo PATH` runs it. Nothing here imports the server code: the expected results are
computed separately, in a slower way.
"""
