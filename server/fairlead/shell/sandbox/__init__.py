"""Commands on a copy-on-write view of the workspace that can write nothing else (docs/sandbox.md). Linux only."""
