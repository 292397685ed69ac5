"""The settings, with their defaults. How they come over the wire is lsp/settings.py's business."""

from dataclasses import dataclass, field
from typing import Literal

Provider = Literal["anthropic", "bedrock", "vertex"]


@dataclass(frozen=True)
class PlanSettings:
    max_items: int = 20
    single_in_progress: bool = True
    reminder_interval: int = 3


@dataclass(frozen=True)
class LoopSettings:
    max_repeats: int = 5
    max_rounds: int = 200
    max_idle_rounds: int = 25


@dataclass(frozen=True)
class BudgetSettings:
    """The most that a run may use; 0: no bound."""

    tokens: int = 0
    cost_usd: float = 0
    minutes: float = 0


@dataclass(frozen=True)
class BashSettings:
    """`allow` and `deny` are texts of rules (shell/rules.py), each of which can be read.

    `processes` and `memory_mb` are what a command may take of the machine; 0: by its size.
    """

    timeout_seconds: int = 120
    processes: int = 0
    memory_mb: int = 0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True)
class CloudSettings:
    """Where in the provider's cloud; empty: as the cloud's own environment or profile says."""

    region: str = ""
    project: str = ""


@dataclass(frozen=True)
class SessionsSettings:
    """`keep_days` 0: a session does not outlive the process."""

    keep_days: int = 30


@dataclass(frozen=True)
class Settings:
    """Names as in docs/protocol.md, `Settings`. Empty text means not set, 0 `context_tokens` as listed."""

    model: str = "claude-sonnet-5-5"
    max_tokens: int = 32_000
    context_tokens: int = 0
    max_silence_seconds: int = 0
    effort: str = ""
    provider: Provider = "anthropic"
    cloud: CloudSettings = field(default_factory=CloudSettings)
    base_url: str = ""
    replay: str = ""
    plan: PlanSettings = field(default_factory=PlanSettings)
    loop: LoopSettings = field(default_factory=LoopSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    bash: BashSettings = field(default_factory=BashSettings)
    sessions: SessionsSettings = field(default_factory=SessionsSettings)
    approvals: Literal["ask", "sandboxed"] = "sandboxed"
    save_after_accept: bool = True
