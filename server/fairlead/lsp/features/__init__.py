"""The handlers of requests, commands and notifications, by topic.

A handler reads its params, calls one use case and converts the result. `registry.py` registers them all.
"""
