"""Keys: what looks like one, and the ones that were given out."""
