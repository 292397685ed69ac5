"""The model that the user has chosen for a session."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelSelection:
    """An endpoint, one of its models, and how much the model thinks. What is empty or None, the settings decide."""

    endpoint: str = ""
    model: str = ""
    effort: str | None = None
    """Empty: the model's default, whatever the settings say."""


BY_SETTINGS = ModelSelection()
"""The settings decide everything."""
