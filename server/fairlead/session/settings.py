"""The settings and their defaults. app/settings.py reads them from the wire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fairlead.code.servers.table import ServerSpec
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.models.common.presets import EndpointSpec
from fairlead.tool_servers.definition import Definition


@dataclass(frozen=True)
class PlanSettings:
    """The settings `plan.*`."""

    max_items: int = 20
    single_in_progress: bool = True
    reminder_interval: int = 3


@dataclass(frozen=True)
class LoopSettings:
    """The settings `loop.*`."""

    max_repeats: int = 5
    max_rounds: int = 200
    max_idle_rounds: int = 25


@dataclass(frozen=True)
class BudgetSettings:
    """The limits of a run; 0: no limit."""

    tokens: int = 0
    cost_usd: float = 0
    minutes: float = 0


@dataclass(frozen=True)
class BashSettings:
    """How commands run."""

    timeout_seconds: int = 120
    processes: int = 0
    """How many processes and threads a command may have; 0: depends on the machine."""
    memory_mb: int = 0
    """How much memory a command may use, in units of 2**20 bytes; 0: depends on the machine."""
    allow: tuple[str, ...] = ()
    """Valid rules (shell/command_line/rules.py) for commands that run without asking."""
    deny: tuple[str, ...] = ()
    """Valid rules for commands that never run. They take precedence over `allow`."""
    pass_variables: tuple[str, ...] = ()
    """Valid patterns (shell/environment.py) of the variables that sandboxed commands get in addition to known ones."""
    services: tuple[str, ...] = ()
    """The services (shell/network.py) that every sandboxed command reaches."""


@dataclass(frozen=True)
class SecretsSettings:
    """The settings `secrets.*`."""

    allow: tuple[str, ...] = ()
    """Valid patterns (workspace/secrets.py) of files that look like secrets and are not."""


@dataclass(frozen=True)
class ToolsSettings:
    """The settings `tools.*`: which calls of tool servers run without asking, and which never run."""

    allow: tuple[str, ...] = ()
    """Valid rules (gate/tool_rules.py)."""
    deny: tuple[str, ...] = ()
    """As `allow`. They take precedence over it."""


@dataclass(frozen=True)
class WebSettings:
    """The settings `web.*`: which hosts the agent asks without asking the user, and what it may reach."""

    allow: tuple[str, ...] = ()
    """Valid rules (gate/host_rules.py)."""
    deny: tuple[str, ...] = ()
    """As `allow`. They take precedence over it."""
    private_hosts: tuple[str, ...] = ()
    """The services (shell/network.py) of this machine and the user's networks that the agent may ask."""
    search_url: str = ""
    """The URL of a search server, with a place for the query (web/search.py); empty: there is none."""


@dataclass(frozen=True)
class CheckSettings:
    """The settings `check.*`: when checks run, and how long searches with checks or for new errors may take."""

    without_changes_seconds: float = 30
    """A check that passes in less time also runs without the proposals (P17); 0: only at the user's request."""
    after_partial_accept: bool = False
    """Whether the checks run on what was accepted while other proposals are undecided."""
    before_accept_all: bool = False
    """Whether the client runs the checks before it accepts all proposals. The server ignores it."""
    unread_first: bool = False
    """Whether proposals that no check has read come first (P21)."""
    search_max_runs: int = 100
    """The runs after which a search for the smallest set ends; 0: no limit."""
    search_max_minutes: float = 15
    """The minutes after which such a search ends; 0: no limit."""
    agent_prompts: int = 2
    """How often failed checks are sent to a hosted agent in a run without a prompt of the user."""
    idle_seconds: float = 0
    """After this time without work of the user or the agent, stale verifications run again (P26); 0: never."""
    idle_max_load: float = 50
    """They wait while the machine's load is higher, in percent of its processors."""
    new_errors_seconds: float = 20
    """How long language servers may look for new errors that the proposals cause (P20); 0: not at all."""


@dataclass(frozen=True)
class CloudSettings:
    """Where to find the model in a cloud; empty: from the cloud's environment variables or profile."""

    region: str = ""
    project: str = ""


@dataclass(frozen=True)
class SmallModelSettings:
    """The settings `smallModel.*`: a second model, for summaries and titles. It is used if either is set."""

    endpoint: str = ""
    """Empty: that of the session."""
    model: str = ""
    """Empty: the one that the endpoint has for this case."""


@dataclass(frozen=True)
class ContextSettings:
    """The settings `context.*`: what the model gets with a prompt."""

    editor: bool = True
    """Whether the model gets what the user is looking at in the editor."""


@dataclass(frozen=True)
class SessionsSettings:
    """How long settled sessions (`Sessions`) are saved."""

    keep_days: int = 30
    """Days until a settled session is removed, from its last run or the last write to its journal, if that is later.

    0: new sessions are not saved, and settled ones are removed.
    """


@dataclass(frozen=True)
class Settings:
    """The settings of docs/protocol.md, `Settings`. An empty string means that a setting is not set."""

    model: str = ""
    """Empty: the one that the endpoint has for this case."""
    max_tokens: int = 32_000
    context_tokens: int = 0
    """The size of the model's window; 0: the size that is known for the model."""
    max_silence_seconds: int = 0
    """How long the model's server may send nothing; 0: depends on its address."""
    effort: str = ""
    endpoint: str = ""
    """The name of the endpoint; empty: the base URL decides, else the keys and the addresses that there are."""
    endpoints: Mapping[str, EndpointSpec] = field(default_factory=dict[str, EndpointSpec])
    """The user's endpoints by name, and what differs for those that Fairlead knows."""
    small_model: SmallModelSettings = field(default_factory=SmallModelSettings)
    cloud: CloudSettings = field(default_factory=CloudSettings)
    base_url: str = ""
    replay: str = ""
    plan: PlanSettings = field(default_factory=PlanSettings)
    loop: LoopSettings = field(default_factory=LoopSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    bash: BashSettings = field(default_factory=BashSettings)
    sessions: SessionsSettings = field(default_factory=SessionsSettings)
    secrets: SecretsSettings = field(default_factory=SecretsSettings)
    checks: tuple[str, ...] = ()
    """Commands that must pass before an item that changed files is completed."""
    check: CheckSettings = field(default_factory=CheckSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    language_servers: Mapping[str, ServerSpec] = field(default_factory=dict[str, ServerSpec])
    """The user's language servers by name. They come before those of `code/servers/table.py`.

    A server of the user replaces the one with the same name there.
    """
    mcp_servers: Mapping[str, Definition] = field(default_factory=dict[str, Definition])
    """The user's tool servers by name."""
    agents: Mapping[str, AgentDefinition] = field(default_factory=dict[str, AgentDefinition])
    """The user's hosted agents by name, which may change those that Fairlead knows."""
    tools: ToolsSettings = field(default_factory=ToolsSettings)
    web: WebSettings = field(default_factory=WebSettings)
    approvals: Literal["ask", "sandboxed"] = "sandboxed"
    """`sandboxed`: commands in the sandbox without network run without asking. `ask`: only those of `bash.allow` do."""
    save_after_accept: bool = True
    """Whether the client saves files after an accept. The server ignores it."""
