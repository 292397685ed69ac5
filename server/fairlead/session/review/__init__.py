"""The user's decisions on proposals (accept, reject, amend, undo), and how they change the files."""
