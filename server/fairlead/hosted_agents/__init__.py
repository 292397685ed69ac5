"""Agents of others that run in the sandbox over ACP, the Agent Client Protocol (docs/agents.md)."""
