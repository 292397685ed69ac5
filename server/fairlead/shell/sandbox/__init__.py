"""Runs commands on a copy-on-write view of the workspace; they can write nothing else (docs/sandbox.md). Linux only."""
