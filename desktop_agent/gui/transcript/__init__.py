"""The transcript: a reducer of events, the view that shows it, and its cards."""
