"""The agent: its loop, messages, events, and the ports `Model` and `Tool`. It knows no editor and no provider.

Rules such as L1 are those of docs/plan.md.
"""
