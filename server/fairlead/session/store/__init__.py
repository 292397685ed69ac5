"""Sessions on disk: the journal of each, its lock, and what is restored from it."""
