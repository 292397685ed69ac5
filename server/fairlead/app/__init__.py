"""The composition of a process: what every front end shares above the sessions."""
