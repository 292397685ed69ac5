"""What users read about sessions: the list, the record of a session's work, the rules for commands."""
