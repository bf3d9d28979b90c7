"""What the window knows, reduced from events. No widgets."""
