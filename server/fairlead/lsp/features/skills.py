"""The skills and commands of sessions."""

import asyncio
from pathlib import Path

from fairlead.lsp.convert_skills import skills
from fairlead.lsp.server import AgentServer
from fairlead.skills.find import find_skills
from fairlead.wire.params import SkillsParams
from fairlead.wire.states import SkillsWire


async def list_skills(server: AgentServer, params: SkillsParams) -> SkillsWire:
    """`agent/skills/list`: those of a session, or those that a new session would have."""
    if session_id := params.get("sessionId"):
        return skills(await (await server.sessions.get(session_id)).skills.update())
    context = server.context
    folders = context.roots.paths if context.trusted else ()
    return skills(await asyncio.to_thread(find_skills, folders, Path.home()))
