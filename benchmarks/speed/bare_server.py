"""For comparison: an empty pygls server."""

from pygls.lsp.server import LanguageServer

LanguageServer("bare", "1").start_io()
