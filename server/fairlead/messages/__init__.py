"""The conversation with the model: messages, their parts and the history. Pure values, known to all models."""
