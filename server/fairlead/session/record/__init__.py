"""The record of a session's work as a file that others can verify (docs/record.md)."""
