"""The terminal front end: an LSP client that starts its own server. Only this package imports rich."""
