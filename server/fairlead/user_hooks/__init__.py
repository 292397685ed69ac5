"""The user's hooks: commands that run when something happens in a session (docs/hooks.md)."""
