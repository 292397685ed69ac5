"""Implementations of the model port: the Messages API, directly or in a cloud, and a recorded conversation."""
