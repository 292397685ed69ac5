"""Running the agent's commands."""
