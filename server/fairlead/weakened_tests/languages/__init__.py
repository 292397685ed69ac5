"""Reads the tests in a text, by the parser of its language."""
