"""The tools of Fairlead that an agent of another maker may call: its plan with checks, and the checks themselves."""

from collections.abc import Mapping

from fairlead.hosted_agents.own_tools import AgentTool, AgentTools
from fairlead.tools.run_check import SPEC as RUN_CHECK
from fairlead.tools.todo import SPEC as TODO

CALLED: Mapping[str, str] = {"plan": "todo", "run_check": "run_check"}
"""The tools that these names stand for."""
AGENT_TOOLS = AgentTools(
    "The user reviews all that you write, and sees your plan. Before work of several steps, write the plan with "
    "`plan`, and attach a check to each step that a command can prove. Use it instead of a plan or todo tool of your "
    "own. Mark a step as in_progress when you begin it, and as completed when it is done: its check runs then.",
    (
        AgentTool(
            "plan",
            "Write the Plan",
            "Replace the plan that the user sees. Send the whole list; keep the ids of items. An item is completed "
            "only if its check passes.",
            TODO.input_schema,
        ),
        AgentTool(
            "run_check",
            "Run a Check",
            "Run a command, or all checks that are set, on your files as the user will review them. What it changes is "
            "discarded.",
            RUN_CHECK.input_schema,
        ),
    ),
)
