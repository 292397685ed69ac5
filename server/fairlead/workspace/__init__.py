"""The person's files as the agent sees them, and the ports to the person's editor."""
