"""One task's life: history, plan and proposals together, and the use cases that front ends call."""
