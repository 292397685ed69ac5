"""Fairlead: a coding agent that keeps to its plan and changes nothing before you accept it."""

__version__ = "0.1.0"
