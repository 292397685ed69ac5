"""Proposed edits as values: matching, line hunks, and the changeset. Pure: strings in, values out, no I/O."""
