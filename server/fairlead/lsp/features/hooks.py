"""The page about the user's hooks."""

import asyncio
from pathlib import Path

from fairlead.lsp.server import AgentServer
from fairlead.session.report.file_names import FileNames
from fairlead.session.report.hooks_page import hooks_page
from fairlead.user_hooks.hooks import statuses
from fairlead.wire import protocol as wire
from fairlead.wire.params import NoParams


async def page(server: AgentServer, _: NoParams) -> wire.PageResult:
    """`agent/hooks/page`: what hooks there are, whether they may run, and what is wrong with their files."""
    context, home = server.context, Path.home()
    folders = context.roots.paths if context.trusted else ()
    found = context.hook_files.find(folders, home)
    known = await asyncio.to_thread(statuses, found, context.allowed_hooks, context.roots, home)
    return {"markdown": hooks_page(found, known, FileNames(context.roots, home))}
