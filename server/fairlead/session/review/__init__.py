"""What the user decides about proposals: accept, reject, amend, undo, and how it reaches the files."""
