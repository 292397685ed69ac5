"""The capabilities that Fairlead announces to language servers, and the names of those that servers announce."""

from typing import Any

from fairlead.json_values import fields_of

_CAPABILITY = {
    "textDocument/definition": "definitionProvider",
    "textDocument/references": "referencesProvider",
    "textDocument/implementation": "implementationProvider",
    "textDocument/hover": "hoverProvider",
    "textDocument/documentSymbol": "documentSymbolProvider",
    "textDocument/rename": "renameProvider",
    "textDocument/codeAction": "codeActionProvider",
    "textDocument/diagnostic": "diagnosticProvider",
    "workspace/symbol": "workspaceSymbolProvider",
    "workspace/executeCommand": "executeCommandProvider",
}


def capability_of(method: str) -> str:
    """The name of the server's capability for a method; "" for a method that is not in the table above."""
    return _CAPABILITY.get(method, "")


def sync_kind(capabilities: dict[str, Any]) -> int:
    """How a server wants changes of documents: 0 not at all, 1 as whole texts, 2 as parts or whole texts."""
    sync = capabilities.get("textDocumentSync")
    kind = sync if isinstance(sync, int) else fields_of(sync).get("change", 0)
    return kind if isinstance(kind, int) else 0


_ACTION_KINDS = ["quickfix", "refactor", "source", "source.organizeImports", "source.fixAll"]
CAPABILITIES = {
    "general": {"positionEncodings": ["utf-32", "utf-16"]},
    "window": {"workDoneProgress": True, "showDocument": {"support": False}},
    "workspace": {
        "applyEdit": False,
        "configuration": True,
        "workspaceFolders": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "symbol": {"dynamicRegistration": True, "symbolKind": {"valueSet": list(range(1, 27))}},
        "workspaceEdit": {
            "documentChanges": True,
            "resourceOperations": ["create", "rename", "delete"],
            "failureHandling": "abort",
        },
    },
    "textDocument": {
        "synchronization": {"dynamicRegistration": False, "didSave": False},
        "definition": {"linkSupport": True},
        "references": {},
        "implementation": {"linkSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {
            "hierarchicalDocumentSymbolSupport": True,
            "symbolKind": {"valueSet": list(range(1, 27))},
        },
        "rename": {"prepareSupport": False},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": _ACTION_KINDS}},
            "dataSupport": True,
            "disabledSupport": True,
            "isPreferredSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
        "publishDiagnostics": {"versionSupport": True, "relatedInformation": True, "codeDescriptionSupport": True},
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": False},
    },
    "experimental": {"serverStatusNotification": True},
}
"""The `capabilities` of `initialize` (LSP 3.18, and an extension of rust-analyzer)."""
