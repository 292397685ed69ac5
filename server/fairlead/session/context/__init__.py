"""What the model gets with a prompt: the places that the user names with their contents, and what the user sees."""
