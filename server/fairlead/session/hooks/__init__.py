"""Connects the user's hooks (`user_hooks/`) to what happens in a session."""
