"""The language servers that Fairlead starts itself, so that somebody knows the proposed text."""
