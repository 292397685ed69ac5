"""The core: the loop, its messages, events and ports. Knows no editor and no provider.

Rules are numbered in docs/plan.md (L1 to L16).
"""
