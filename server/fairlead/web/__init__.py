"""The web: pages and search results for the agent, none of which is trusted (docs/web.md)."""
