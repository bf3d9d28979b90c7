"""Notes and their delivery states."""
