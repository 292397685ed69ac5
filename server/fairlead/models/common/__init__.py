"""What all models share: transport, events, retries, readers of fields, prices."""
