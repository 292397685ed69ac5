"""Decides what may run, and which guarded files may be used: by the user's settings, or by asking the user."""
