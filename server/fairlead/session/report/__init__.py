"""What a session reports: the evidence it records, its summary, the list of sessions, the rules in force."""
