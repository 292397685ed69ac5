"""The params and the result of each method of the protocol (docs/protocol.md)."""

from collections.abc import Mapping
from typing import Any

from fairlead.wire import params, states
from fairlead.wire import protocol as wire
from fairlead.wire.events import AgentEvent, OpenedSession

CLIENT_REQUESTS: Mapping[str, tuple[Any, Any]] = {
    wire.CREATE_SESSION: (params.CreateSessionParams, wire.CreatedSession),
    wire.LIST_SESSIONS: (params.NoParams, states.SessionListWire),
    wire.OPEN_SESSION: (params.SessionParams, OpenedSession),
    wire.REWIND_SESSION: (params.RewindParams, wire.RewindResult),
    wire.RENAME_SESSION: (params.RenameParams, None),
    wire.DELETE_SESSION: (params.SessionParams, None),
    wire.FORMER_FOLDERS: (params.NoParams, wire.FormerFoldersResult),
    wire.ADOPT_SESSIONS: (params.AdoptParams, wire.AdoptResult),
    wire.RUN_TASK: (params.RunTaskParams, wire.RunResult),
    wire.CALL_TOOL: (params.CallToolParams, wire.CallToolResult),
    wire.RUN_IN_TERMINAL: (params.RunInTerminalParams, wire.TerminalResult),
    wire.TERMINAL_INPUT: (params.TerminalInputParams, None),
    wire.STEER: (params.SteerParams, wire.SteerResult),
    wire.STOP_COMMAND: (params.StopCommandParams, None),
    wire.CANCEL: (params.SessionParams, None),
    wire.ACCEPT: (params.AcceptParams, wire.ReviewResult),
    wire.REJECT: (params.RejectParams, wire.ReviewResult),
    wire.AMEND: (params.AmendParams, wire.AmendResult),
    wire.UNDO: (params.UndoParams, wire.ReviewResult),
    wire.REDO: (params.SessionParams, wire.ReviewResult),
    wire.CHANGES_IN_FILE: (params.FileParams, wire.ChangesInFileResult),
    wire.RUN_CHECKS: (params.RunChecksParams, wire.CheckResults),
    wire.MINIMIZE_CHECKS: (params.MinimizeChecksParams, states.SmallestSetWire),
    wire.NEEDED_CHANGES: (params.MinimizeChecksParams, states.NeededChangesWire),
    wire.CHECK_TOGETHER: (params.NoParams, states.TogetherResultWire),
    wire.RANK_RACE: (params.RaceParams, wire.RaceResult),
    wire.SUGGEST_CHECKS: (params.NoParams, wire.SuggestedChecks),
    wire.PLAN_EDIT: (params.PlanEditParams, wire.PlanEditResult),
    wire.PLAN_HISTORY: (params.SessionParams, wire.PageResult),
    wire.RECORD: (params.SessionParams, wire.RecordResult),
    wire.COSTS: (params.NoParams, wire.PageResult),
    wire.COMMAND_RULES: (params.NoParams, wire.PageResult),
    wire.TRY_RULE: (params.TryRuleParams, wire.TryRuleResult),
    wire.CREDENTIALS: (params.CredentialsParams, None),
    wire.LOG_IN: (params.LogInParams, None),
    wire.SECRETS: (params.SecretsParams, None),
    wire.WARM: (params.WarmParams, None),
    wire.MODELS: (params.ModelsParams, wire.ModelsResult),
    wire.CHOOSE_MODEL: (params.ChooseModelParams, states.ChosenModelWire),
    wire.TRY_MODEL: (params.TryModelParams, wire.TryResult),
    wire.HOSTED_AGENTS: (params.HostedAgentsParams, states.HostedAgentsWire),
    wire.INSTALL_AGENT: (params.InstallAgentParams, states.HostedAgentsWire),
    wire.SET_AGENT_OPTION: (params.AgentOptionParams, states.HostedAgentsWire),
    wire.SKILLS_LIST: (params.SkillsParams, states.SkillsWire),
    wire.SKILLS_PAGE: (params.NoParams, wire.PageResult),
    wire.SUBAGENT_PAGE: (params.SubagentParams, wire.PageResult),
    wire.STOP_SUBAGENT: (params.SubagentParams, None),
    wire.HOOKS_PAGE: (params.NoParams, wire.PageResult),
    wire.TOOL_SERVERS_LIST: (params.ToolServersParams, states.ToolServersWire),
    wire.TOOL_SERVERS_RESTART: (params.ToolServerParams, states.ToolServersWire),
    wire.TOOL_SERVERS_OFFERS: (params.ToolServersParams, states.ServerOffersWire),
    wire.SERVER_PROMPT: (params.ServerPromptParams, params.ServerPromptResult),
}

CLIENT_NOTIFICATIONS: Mapping[str, Any] = {
    wire.TRUST: params.TrustParams,
    wire.TERMINAL_SIZE: params.TerminalSizeParams,
}

SERVER_REQUESTS: Mapping[str, tuple[Any, Any]] = {
    wire.APPROVE: (wire.ApproveParams, wire.ApproveResult),
    wire.ASK: (wire.AskParams, wire.AskResult),
    wire.TERMINAL_OUTPUT: (wire.TerminalOutputParams, None),
    wire.AUTHORIZE: (wire.AuthorizeParams, wire.AuthorizeResult),
    wire.ENTER: (wire.EnterParams, wire.EnterResult),
    wire.CLAIMS: (wire.ClaimsParams, wire.ClaimsResult),
    wire.DIAGNOSTICS: (wire.DiagnosticsParams, wire.DiagnosticsResult),
}
"""Without the requests about code, whose params and results are those of LSP."""

SERVER_NOTIFICATIONS: Mapping[str, Any] = {
    wire.PLAN: states.PlanWire,
    wire.EDITS: states.EditsWire,
    wire.PLAN_CHANGED: states.ChangedWire,
    wire.EDITS_CHANGED: states.ChangedWire,
    wire.SESSIONS: states.SessionListWire,
    wire.TOGETHER: states.TogetherWire,
    wire.TOOL_SERVERS: states.ToolServersWire,
    wire.SAVING: wire.SavingParams,
    wire.SECRET_CHANGED: wire.SecretChangedParams,
    wire.EVENT: AgentEvent,
}
