"""Benchmarks: figures, never asserts. `npm run bench` runs them all and prints a table."""
