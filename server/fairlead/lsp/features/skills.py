"""The skills and commands of sessions."""

import asyncio
from pathlib import Path

from fairlead.lsp.convert_skills import skills
from fairlead.lsp.server import AgentServer
from fairlead.session.report.file_names import FileNames
from fairlead.session.report.skills_page import skills_page
from fairlead.skills.find import FoundSkills, find_skills
from fairlead.wire import protocol as wire
from fairlead.wire.params import NoParams, SkillsParams
from fairlead.wire.states import SkillsWire


async def list_skills(server: AgentServer, params: SkillsParams) -> SkillsWire:
    """`agent/skills/list`: those of a session, or those that a new session would have."""
    if session_id := params.get("sessionId"):
        return skills(await (await server.sessions.get(session_id)).skills.update())
    return skills(await _found(server))


async def page(server: AgentServer, _: NoParams) -> wire.PageResult:
    """`agent/skills/page`: what skills and commands there are, and what is wrong with their files."""
    return {"markdown": skills_page(await _found(server), FileNames(server.context.roots, Path.home()))}


async def _found(server: AgentServer) -> FoundSkills:
    """What a new session would have."""
    context = server.context
    folders = context.roots.paths if context.trusted else ()
    return await asyncio.to_thread(find_skills, folders, Path.home())
