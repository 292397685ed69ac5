"""The tools that the model can call. Each has a module here and a line in `table.py`."""
