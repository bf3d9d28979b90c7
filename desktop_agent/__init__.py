"""Desktop Agent: an AI agent that works in a folder on your computer, in a window."""

__version__ = "0.1.0"
