"""The agent's bash commands: how they are parsed, approved, sandboxed and run."""
