"""Benchmarks: a figure that misses its target is not an error. `npm run bench` runs them all and prints a table."""
