"""The agent's bash commands: how they are read, sandboxed and run."""
