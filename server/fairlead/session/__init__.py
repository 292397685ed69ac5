"""Sessions: one conversation each, with its plan and its proposals, and the use cases that front ends call."""
