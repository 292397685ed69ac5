"""The agent: its loop, messages, events, and the ports `Model` and `Tool`. It knows no editor and no provider.

docs/plan.md has the rules that are cited as L1, L2 and so on.
"""
