"""Where Fairlead stores its data if the front end has no folder for it."""

from pathlib import Path

import platformdirs


def state_folder() -> Path:
    """The user's folder for Fairlead's data. Commands must not read it."""
    return platformdirs.user_state_path("fairlead", appauthor=False)
