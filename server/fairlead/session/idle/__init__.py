"""What sessions do while the user and the agent do nothing."""
