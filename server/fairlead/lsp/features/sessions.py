"""Creates, lists, opens, renames, rewinds and deletes sessions."""

from pathlib import Path

from fairlead.lsp import convert, convert_edits, convert_events
from fairlead.lsp.features.handlers import current_edits, named_session
from fairlead.lsp.params import read_path
from fairlead.lsp.server import AgentServer
from fairlead.session.report.costs_page import costs_page
from fairlead.session.rewind import fork, rewind, rewind_conversation
from fairlead.session.session import Session
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.events import OpenedSession
from fairlead.wire.params import AdoptParams, CreateSessionParams, NoParams, RenameParams, RewindParams, SessionParams


async def create_session(server: AgentServer, params: CreateSessionParams) -> wire.CreatedSession:
    """`agent/sessions/create`."""
    return {"sessionId": server.sessions.create(params.get("title", "")).id}


async def list_sessions(server: AgentServer, _: NoParams) -> states.SessionListWire:
    """`agent/sessions/list`: all sessions, after the server has tried to load each saved session that it found."""
    return convert.sessions(await server.sessions.rows_when_loaded())


async def costs(server: AgentServer, _: NoParams) -> wire.PageResult:
    """`agent/costs`: a page with the costs of the listed sessions, per day and per session."""
    return {"markdown": costs_page(await server.sessions.rows_when_loaded())}


async def refreshed_session(server: AgentServer, params: SessionParams) -> Session:
    """The session that the params name, after comparing its proposals with the files."""
    session = await named_session(server, params)
    await session.files.observe_all()
    session.publish()
    return session


async def open_session(server: AgentServer, params: SessionParams) -> OpenedSession:
    """`agent/sessions/open`: the current state of a session, after comparing its proposals with the files."""
    session = await refreshed_session(server, params)
    return {
        "sessionId": session.id,
        "phase": session.runs.phase,
        "mode": session.runs.mode,
        "agent": session.runs.agent,
        "hosted": session.hosted.choice.name,
        "model": convert.chosen_model(session.model),
        "plan": convert.plan(session.id, session.plan_state()),
        "edits": current_edits(server, session),
        "transcript": convert_events.transcript(session.id, session.roots, session.conversation.entries),
    }


async def rewind_session(server: AgentServer, params: RewindParams) -> wire.RewindResult:
    """`agent/sessions/rewind`: rewinds a session to a prompt, or creates a session that begins there."""
    session, checkpoint = await named_session(server, params), params["checkpoint"]
    match params["scope"]:
        case "everything":
            rewound = await rewind(session, checkpoint)
        case "conversation":
            rewound = await rewind_conversation(session, checkpoint)
        case "fork":
            rewound = await fork(server.sessions, session, checkpoint)
    kept = [convert_edits.outcome(outcome) for outcome in rewound.not_undone]
    return {"sessionId": rewound.session.id, "prompt": rewound.prompt, "kept": kept}


async def rename_session(server: AgentServer, params: RenameParams) -> None:
    """`agent/sessions/rename`: gives a session the user's title."""
    (await named_session(server, params)).rename(params["title"])


async def delete_session(server: AgentServer, params: SessionParams) -> None:
    """`agent/sessions/delete`."""
    await server.sessions.delete(params["sessionId"])


async def former_folders(server: AgentServer, _: NoParams) -> wire.FormerFoldersResult:
    """`agent/sessions/former`: the folders that no longer exist, with the number of their saved sessions."""
    found = server.sessions.former_folders()
    return {"folders": [{"uri": Path(path).as_uri(), "sessions": len(infos)} for path, infos in found.items()]}


async def adopt_sessions(server: AgentServer, params: AdoptParams) -> wire.AdoptResult:
    """`agent/sessions/adopt`: moves the sessions of a folder that no longer exists to an open folder."""
    former, folder = read_path(params["former"], "params.former"), read_path(params["folder"], "params.folder")
    return {"adopted": await server.sessions.adopt(str(former), folder)}
