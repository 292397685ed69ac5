"""The agent: its loop, messages, events, and the ports `Model` and `Tool`. It knows no editor and no provider.

The rules have numbers in docs/plan.md (L1 to L16).
"""
