"""What the model gets besides the user's words: the files that a prompt mentions, what the user sees, and rules."""
