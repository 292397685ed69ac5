"""Implementations of the model port: the Messages API, also in a cloud, and a recorded conversation."""
