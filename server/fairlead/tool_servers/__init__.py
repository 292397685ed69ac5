"""Tool servers: programs and services that offer tools over MCP (docs/mcp.md)."""
