"""What supports the steps of a session: the record of the work, the known files, and the results of checks."""
