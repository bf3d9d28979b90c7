"""The crossing between the window's thread and the engine's."""
