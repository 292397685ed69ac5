"""The language servers that Fairlead starts itself, because the user's editor does not know the proposed text."""
