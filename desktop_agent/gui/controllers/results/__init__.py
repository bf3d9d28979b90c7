"""What subagents changed elsewhere, in the window."""
