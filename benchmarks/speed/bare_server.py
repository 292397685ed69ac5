"""For comparison: a pygls server with nothing in it."""

from pygls.lsp.server import LanguageServer

LanguageServer("bare", "1").start_io()
