"""How the terminal shows a run: lines, the status area, the plan and diffs."""
