"""The messages that tell the user whether a session can be saved."""

NOT_SAVED = (
    "{session} cannot be saved: {reason} ({folder}). You can continue, but what happens from now on is lost when the "
    "server ends. Saving is retried every few seconds."
)
SAVED_AGAIN = "{session} is saved again."


def says_saved(message: str) -> bool | None:
    """Whether a session is saved, according to a message for the user. None: it is about something else."""
    if message.endswith(NOT_SAVED.rpartition("}")[2]):
        return False
    return True if message.endswith(SAVED_AGAIN.rpartition("}")[2]) else None
