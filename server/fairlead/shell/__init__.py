"""Runs the agent's commands."""
