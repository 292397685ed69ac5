"""The commands about records of sessions (docs/record.md)."""
