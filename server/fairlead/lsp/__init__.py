"""The language server. Only this package imports pygls and lsprotocol."""
