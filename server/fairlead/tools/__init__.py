"""The entries of the dispatch table. Adding one is a file here and a line in table.py; the loop does not change."""
