"""The sessions that are open, and their recovery after a crash."""
