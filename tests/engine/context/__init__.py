"""Long work: what a request carries once the history is too long for the window."""
