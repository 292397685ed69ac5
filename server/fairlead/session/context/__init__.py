"""What the model gets besides the user's words: the places that a prompt names, what the user sees, and rules."""
