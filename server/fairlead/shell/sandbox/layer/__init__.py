"""The overlay of a session: its two layers, and the changes that commands leave in the upper one."""
