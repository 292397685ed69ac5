"""The terminal front end: an LSP client of the server that it starts. The only place that imports rich."""
