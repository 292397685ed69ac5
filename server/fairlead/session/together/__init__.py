"""What concerns several sessions: their proposals checked together."""
