"""The checked options of a command."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fairlead.app.endpoint import Credentials, choose_endpoint
from fairlead.app.settings import read_settings
from fairlead.cli.config import with_options
from fairlead.json_values import is_list, is_object
from fairlead.session.record.signed import Trust
from fairlead.session.settings import BashSettings
from fairlead.workspace.paths import Roots

Accept = Literal["ask", "all", "none", "checks"]
"""How a review decides: by asking about each file, accepting all, only showing them, or accepting what checks prove."""


@dataclass(frozen=True)
class RunOptions:
    """The options of `fairlead run`. Paths are absolute."""

    prompt: str | None
    """None: `resume` is true, and the run continues without a TASK."""
    workspace: Roots
    storage: Path | None = None
    """The folder of the saved sessions. None: sessions are not saved."""
    resume: bool = False
    """Whether to continue the newest session of the workspace."""
    adopt: Path | None = None
    """`--adopt`: the former path of the workspace's first folder, whose sessions become those of that folder."""
    replay: Path | None = None
    agent: str = ""
    """The name of an agent in a file that does the task; empty: none."""
    model: str = ""
    small_model: str = ""
    endpoint: str = ""
    base_url: str = ""
    max_tokens: int = 0
    """The longest answer, in tokens; 0: the default of Fairlead's server."""
    max_silence: int = 0
    """How long the model's server may send nothing, in seconds; 0: the default of Fairlead's server."""
    accept: Accept | None = None
    """None: `ask` in a terminal, else `none`."""
    accept_weakened_tests: bool = False
    """Whether `all` includes the changes that weaken tests (docs/plan.md P22)."""
    recording: Path | None = None
    """`--record`: where to write the conversation, for a replay (docs/replay.md)."""
    record: Path | None = None
    """`--save-record`: where to write what the session did and proved (docs/record.md)."""
    allow_commands: bool = False
    allowed: Sequence[str] = ()
    """Rules for commands (docs/commands.md) in addition to those of the settings."""
    allowed_tools: Sequence[str] = ()
    allowed_hosts: Sequence[str] = ()
    """Rules for calls of tool servers (docs/mcp.md) in addition to those of the settings."""
    max_cost: float = 0
    """US dollars after which the run pauses; 0: what the settings say."""
    as_json: bool = False
    """`--json`: whether standard output gets lines of JSON, and standard error what is otherwise shown."""
    checks: Sequence[str] = ()
    """Commands that must pass before a step that changed files is completed."""
    pass_variables: Sequence[str] = ()
    """Patterns of the variables that sandboxed commands get in addition to known ones."""
    services: Sequence[str] = ()
    """The services that sandboxed commands reach, as `host:port`."""
    opened_secrets: Sequence[str] = ()
    """Patterns of the files that look like secrets, and may be read without asking."""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The settings of the file of `--config` (`read_config`)."""
    config_file: str = ""
    """The file of `--config`, as the user named it."""

    @property
    def settings(self) -> dict[str, Any]:
        """The server's settings (docs/protocol.md, `Settings`) of the command line and the file."""
        given = {
            "model": self.model,
            "smallModel.model": self.small_model,
            "endpoint": self.endpoint,
            "baseUrl": self.base_url,
            "maxTokens": self.max_tokens,
            "maxSilenceSeconds": self.max_silence,
            "replay": str(self.replay or ""),
            "checks": list(self.checks),
            "bash.passVariables": list(self.pass_variables),
            "bash.services": list(self.services),
            "secrets.allow": list(self.opened_secrets),
            "budget.costUsd": self.max_cost,
            "bash.allow": self._with_configured("bash", self.allowed),
            "tools.allow": self._with_configured("tools", self.allowed_tools),
            "web.allow": self._with_configured("web", self.allowed_hosts),
        }
        return with_options(self.config, {name: value for name, value in given.items() if value})

    @property
    def has_checks(self) -> bool:
        """Whether the user has set a check for all steps."""
        return bool(read_settings(self.settings)[0].checks)

    def _with_configured(self, group: str, rules: Sequence[str]) -> list[Any]:
        """The rules of `config` and these; empty if there are none of these. The server checks those of `config`."""
        section = self.config.get(group)
        inner = section.get("allow") if is_object(section) else None
        configured = self.config.get(f"{group}.allow", inner)
        return [*(configured if is_list(configured) else []), *rules] if rules else []

    def where(self, name: str) -> str:
        """Where the model is, for a line that begins with its name: the provider and the address, without a password.

        Empty: at Anthropic's own address, or the name says it, because only the server knows the model's.
        """
        endpoint = choose_endpoint(read_settings(self.settings)[0], Credentials())
        is_named = endpoint.cloud is not None or (endpoint.at_provider and endpoint.base_url is not None)
        at = "" if endpoint.at_provider or endpoint.shown_url in (None, name) else f" at {endpoint.shown_url}"
        return f" on {endpoint.title}{at}" if is_named and name != endpoint.title else at


@dataclass(frozen=True)
class ModelsOptions:
    """The options of `fairlead models`."""

    endpoint: str = ""
    """Empty: all."""
    base_url: str = ""
    as_json: bool = False
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """As for `RunOptions`."""

    @property
    def settings(self) -> dict[str, Any]:
        """As for `RunOptions`."""
        given = {"endpoint": self.endpoint, "baseUrl": self.base_url}
        return with_options(self.config, {name: value for name, value in given.items() if value})


@dataclass(frozen=True)
class DemoOptions:
    """The options of `fairlead demo`."""

    keep: Path | None = None
    """The folder to work in. None: a temporary one."""


@dataclass(frozen=True)
class VerifyOptions:
    """The options of `fairlead verify`. Paths are absolute."""

    file: Path | None
    """The record. None: that in the note of `commit`, which is then not None."""
    workspace: Roots
    commit: str | None = None
    """The revision whose files are compared. None: those of the workspace are."""
    trust: Trust = field(default_factory=Trust)
    """Who must have signed the record."""
    run: bool = True
    """Whether to run the record's checks. Without a sandbox, they do not run, and the verification fails."""
    timeout: int = BashSettings().timeout_seconds
    """How long each check may run, in seconds."""
    pass_variables: Sequence[str] = ()
    """As for `RunOptions`."""
    opened_secrets: Sequence[str] = ()
    """As for `RunOptions`."""
    problems: Sequence[str] = ()
    """Those in the file of `--config` (`read_settings`)."""
    junit: Path | None = None
    sarif: Path | None = None
    markdown: Path | None = None
    """Where to write the result in these forms; None: nowhere."""
    comment: bool = False
    """Whether to post the result on the pull request or merge request of this CI job."""
