"""The box of one command: what it shows of the machine, its limits, and the program that makes it."""
