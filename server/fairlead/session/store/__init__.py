"""Sessions on disk: their journals, the locks, and what is restored from them."""
