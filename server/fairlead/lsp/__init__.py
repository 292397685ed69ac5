"""The language server. Only this package and `code/` import pygls and lsprotocol."""
