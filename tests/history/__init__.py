"""A replay of real history: commits of any repository become the agent's tool calls, and the trees must come out equal.

`python tests/history/run.py --repo PATH` (see there). Nothing here imports the server's code: what is right is computed
a second time, and slower.
"""
