"""Code shared by several test folders, with its own tests."""
