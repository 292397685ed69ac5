"""The settings, with their defaults. How they come over the wire is lsp/settings.py's business."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class PlanSettings:
    max_items: int = 20
    single_in_progress: bool = True
    reminder_interval: int = 3


@dataclass(frozen=True)
class LoopSettings:
    max_repeats: int = 5
    max_rounds: int = 200


@dataclass(frozen=True)
class BashSettings:
    timeout_seconds: int = 120


@dataclass(frozen=True)
class Settings:
    """Names as in docs/protocol.md, `Settings`. Empty text means: not set."""

    model: str = "claude-sonnet-5-5"
    max_tokens: int = 32_000
    effort: str = ""
    base_url: str = ""
    replay: str = ""
    plan: PlanSettings = field(default_factory=PlanSettings)
    loop: LoopSettings = field(default_factory=LoopSettings)
    bash: BashSettings = field(default_factory=BashSettings)
    approvals: Literal["ask", "sandboxed"] = "ask"
    save_after_accept: bool = True
