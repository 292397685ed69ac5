"""Skills and commands: files that teach the agent something (docs/skills.md)."""
