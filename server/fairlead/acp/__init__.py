"""Fairlead as an agent in other editors, over the Agent Client Protocol (docs/acp.md)."""
