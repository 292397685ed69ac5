"""What `fairlead run` has for scripts and CI: lines of JSON, outcomes with exit codes, and decisions without a user."""
