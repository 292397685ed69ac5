"""The terminal front end. `run` and `demo` are clients of a server that they start. Only this package imports rich."""
