"""The transcript: a fold of events, the view that shows it, and its cards."""
