"""The plan: its items, their owner, and the plan as text. Pure: no I/O, no clock.

The rules are numbered in docs/plan.md (P1 to P20).
"""

from fairlead.plan.items import PlanError, PlanItem, PlanningState, StalePlan, Status
from fairlead.plan.manager import TodoManager
from fairlead.plan.ops import PlanOp
from fairlead.plan.render import render_items

__all__ = ["PlanError", "PlanItem", "PlanOp", "PlanningState", "StalePlan", "Status", "TodoManager", "render_items"]
