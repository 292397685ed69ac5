"""The commands of `fairlead mcp`."""
