"""`initialize`: what the client sends, and what the server announces.

The client waits for the answer, so this module imports little (docs/performance.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from fairlead.json_reader import read_valid
from fairlead.json_values import fields_of
from fairlead.session.errors import WrongRequest
from fairlead.uris import file_path, is_local, path_problem
from fairlead.wire import protocol as wire
from fairlead.wire.params import AgentCapabilities, InitializationOptions


class ClientCapabilities:
    """What the client announced in `initialize` (docs/protocol.md, Initialize)."""

    def __init__(self, capabilities: types.ClientCapabilities | None = None) -> None:
        workspace = capabilities.workspace if capabilities else None
        window = capabilities.window if capabilities else None
        edit = workspace.workspace_edit if workspace else None
        experimental = capabilities.experimental if capabilities else None
        agent, _ = read_valid(AgentCapabilities, fields_of(experimental).get("agent"), "agent")
        content = workspace.text_document_content if workspace else None
        self.apply_edit = bool(workspace and workspace.apply_edit)
        self.file_operations = list(edit.resource_operations or [] if edit else [])
        # Neovim announces only resource operations, which imply documentChanges (LSP 3.18, WorkspaceEdit)
        self.document_changes = bool(edit and edit.document_changes) or bool(self.file_operations)
        self.lens_refresh = bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)
        self.progress = bool(window and window.work_done_progress)
        self.text_content = bool(content and content.dynamic_registration)
        self.questions = agent.get("questions", False)
        self.sessions = agent.get("sessions", False)
        self.approvals = agent.get("approvals", False)
        self.editor = agent.get("editor", False)
        self.checks_edits = agent.get("checksEdits", False)
        self.claims_files = agent.get("claimsFiles", False)
        self.diffs = agent.get("diffs", False)
        self.sign_ins = agent.get("signIns", False)
        self.incremental = agent.get("incremental", False)


@dataclass(frozen=True)
class Initialization:
    """What the client sent in `initialize`."""

    capabilities: ClientCapabilities
    folders: Sequence[tuple[Path, str]]
    """The folders of the workspace with their names. A name is empty if the client sent none."""
    options: InitializationOptions
    warnings: Sequence[str]
    """Warnings for the user about the folders and the options."""


def read_initialization(params: types.InitializeParams) -> Initialization:
    """Reads the params of `initialize`.

    Raises:
        WrongRequest: as `read_folders`.
    """
    sent = [(folder.uri, folder.name) for folder in params.workspace_folders or []] or [(params.root_uri or "", "")]
    folders, warning = read_folders([(uri, name) for uri, name in sent if uri], params.root_path)
    options, problems = read_valid(InitializationOptions, params.initialization_options, "initializationOptions")
    warnings = [*filter(None, [warning]), *(f"{problem}, so it was ignored." for problem in problems)]
    return Initialization(ClientCapabilities(params.capabilities), folders, options, warnings)


def server_capabilities(client: ClientCapabilities, encoding: types.PositionEncodingKind) -> types.ServerCapabilities:
    """The capabilities that the server announces. `features/registry.py` registers the handlers."""
    # a client with diffs has its own actions at the cursor
    actions = None if client.diffs else types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    folders = types.WorkspaceFoldersServerCapabilities(supported=True, change_notifications=True)
    return types.ServerCapabilities(
        position_encoding=encoding,
        text_document_sync=types.TextDocumentSyncOptions(
            open_close=True, change=types.TextDocumentSyncKind.Incremental, save=True
        ),
        code_action_provider=actions,
        code_lens_provider=types.CodeLensOptions(resolve_provider=False),
        execute_command_provider=types.ExecuteCommandOptions(list(wire.COMMANDS)),
        workspace=types.WorkspaceOptions(workspace_folders=folders),
        experimental={"agent": {"version": wire.VERSION}},
    )


def read_storage(given: str) -> tuple[Path | None, str]:
    """The client's storage folder; None if it is empty. If it cannot be used: None, and a warning for the user."""
    if not given:
        return None, ""
    problem = _folder_problem(Path(given))
    if not problem:
        return Path(given), ""
    shown = f"The storage folder {repr(given)[:200]} cannot be used: {problem}"
    return None, f"{shown}. Sessions are not saved. Choose another storageDir."


def read_folders(folders: Sequence[tuple[str, str]], path: str | None = None) -> tuple[list[tuple[Path, str]], str]:
    """The folders that can be used, with their names, and a warning about the other ones; "" if there are none.

    Args:
        folders: URIs and names.
        path: the folder if there are no URIs; None or "" if there is none.

    Raises:
        WrongRequest: none can be used, although a `file:` URI or, without URIs, `path` is given.
    """
    found: list[tuple[Path, str]] = []
    refused: list[str] = []
    given = [(uri, file_path(uri), name) for uri, name in folders] or ([(path, Path(path), "")] if path else [])
    for shown, folder, name in given:
        problem = "it is not a folder on this machine" if folder is None else _folder_problem(folder)
        if folder is None or problem:
            refused.append(f"The workspace folder {shown[:200]!r} cannot be used: {problem}.")
        else:
            found.append((folder, name))
    if not refused:
        return found, ""
    if found:
        return found, " ".join([*refused, "The agent works in the other folders."])
    message = f"{refused[0]} Open another folder."
    if not folders or any(is_local(uri) for uri, _ in folders):
        raise WrongRequest(message)
    return [], message


def _folder_problem(path: Path) -> str:
    """Why a path cannot be used as a folder; "" if it can. A path where a file or nothing exists has no problem."""
    problem = path_problem(path)
    if not problem:
        try:
            path.is_dir()
        except OSError as error:  # a name that is too long, for example
            problem = error.strerror or str(error)
    return problem
