"""The tools of a session's runs, and the checks of the items that they complete."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.agent.tool import Tool
from fairlead.plan import PlanItem, TodoManager
from fairlead.session.code_support import CodeSupport
from fairlead.session.evidence.session_evidence import SessionEvidence
from fairlead.session.hooks.session_hooks import SessionHooks
from fairlead.session.review.weakened import weakened_note
from fairlead.session.server_context import ServerContext
from fairlead.skills.library import SkillLibrary
from fairlead.tool_servers.servers import ToolServers
from fairlead.tools.check_queue import CheckQueue
from fairlead.tools.checks import Checks
from fairlead.tools.commands import Commands
from fairlead.tools.kept_results import KeptResults
from fairlead.tools.run_check import RunCheck
from fairlead.tools.server_tools import ServerToolsContext, server_tools
from fairlead.tools.skill import UseSkill
from fairlead.tools.table import code_tools, tool_table
from fairlead.tools.todo import Todo
from fairlead.tools.web_context import WebContext
from fairlead.tools.web_search import WebSearch
from fairlead.workspace.files import Files


@dataclass(frozen=True)
class RunTools:
    """Makes the tools of runs. A subagent gets those of its own files."""

    context: ServerContext
    plan: TodoManager
    evidence: SessionEvidence
    code: CodeSupport
    tool_servers: ToolServers
    skills: SkillLibrary
    hooks: SessionHooks
    check_queue: CheckQueue
    web: WebContext
    kept: KeptResults
    """The results that were too long for a model, and the files of skills."""

    def own(self, files: Files, commands: Commands, checks: Checks) -> dict[str, Tool]:
        """The tools that do not ask language servers, by name.

        Args:
            checks: runs the checks of the items that `todo` completes.
        """
        tools = tool_table(files, self.plan, commands, checks, kept=self.kept, web=self.web)
        if self.context.settings.web.search_url:
            tools["web_search"] = WebSearch(self.web, self.context.settings.web.search_url)
        if self.skills.has_any_for_model:
            tools["skill"] = UseSkill(self.skills)
        return tools

    def brief(self, files: Files, commands: Commands, checks: Checks) -> dict[str, Tool]:
        """Those of `own` that a model with a small window cannot do without."""
        tools = tool_table(files, self.plan, commands, checks, kept=self.kept, is_brief=True)
        if self.skills.has_any_for_model:
            tools["skill"] = UseSkill(self.skills)
        return tools

    def of_code(self, files: Files, commands: Commands) -> dict[str, Tool]:
        """The tools that ask the user's editor or language servers, by name."""
        return code_tools(files, commands.gate, self.code.queries, self.context.diagnostics)

    def of_servers(self, commands: Commands, window: int = sys.maxsize) -> dict[str, Tool]:
        """The tools of tool servers, by name.

        Args:
            window: the size of the model's window in tokens. If they take too much of it, there is only a search.
        """
        given = server_tools(ServerToolsContext(self.tool_servers, commands.gate, self.kept), window)
        return {tool.spec.name: tool for tool in given}

    def of_programs(self, files: Files, commands: Commands) -> dict[str, Tool]:
        """All tools that another program may call in the session: those of runs, and `run_check`."""
        checks = self.checks(files, commands)
        return {
            **self.own(files, commands, checks),
            **self.of_code(files, commands),
            **self.of_servers(commands),
            "run_check": RunCheck(checks, self._known_checks),
        }

    def of_hosted(self, files: Files, commands: Commands) -> dict[str, Tool]:
        """What an agent of another maker uses of Fairlead: it has its own tools for all the rest."""
        checks = self.checks(files, commands)
        return {"todo": Todo(self.plan, checks.run), "run_check": RunCheck(checks, self._known_checks)}

    def checks(self, files: Files, commands: Commands, more: Sequence[str] = ()) -> Checks:
        """The checks of the items that a run completes.

        Args:
            more: checks of items that changed files, in addition to those of the settings.
        """
        evidence, plan = self.evidence, self.plan

        def general_checks(item: PlanItem) -> Sequence[str]:
            """Returns no checks for a completed item, because the changes of later items need not pass yet."""
            completed = (each.id for each in plan.snapshot().items if each.status == "completed")
            return () if item.id in completed else evidence.general_checks(item, more)

        return Checks(
            files,
            commands,
            self.check_queue,
            general_checks,
            evidence.still_passes,
            self.context.settings.check.without_changes_seconds,
            self.hooks.step_checked,
            lambda item: weakened_note(files.roots, files.changes, item.id),
        )

    def _known_checks(self) -> list[str]:
        """The checks of the settings, then those of the plan's items, each once."""
        of_items = (item.check for item in self.plan.snapshot().items)
        return list(dict.fromkeys(filter(None, (*self.context.settings.checks, *of_items))))
