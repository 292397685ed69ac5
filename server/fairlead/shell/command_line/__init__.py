"""Reads bash command lines without running them: their commands, what these verify, and whether they need approval."""
