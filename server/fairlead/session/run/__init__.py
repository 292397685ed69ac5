"""A run of a session: building the agent, the prompt, the feedback."""
