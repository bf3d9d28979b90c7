"""What the engine does around calls so that they can be undone, and the commands for it."""
