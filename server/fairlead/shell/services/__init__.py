"""Long-lived processes beside the commands: each sees the proposals as they change, and is stopped when idle."""
