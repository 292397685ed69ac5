"""Finds the proposed changes that weaken tests (docs/plan.md P22). Pure."""
