"""The wire: the only place that imports pygls or lsprotocol."""
