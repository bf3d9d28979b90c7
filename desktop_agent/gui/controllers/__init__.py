"""What joins panels to the engine's commands, one controller for each concern."""
