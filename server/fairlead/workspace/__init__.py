"""The user's files as the agent sees them, and the ports to the user's editor."""
