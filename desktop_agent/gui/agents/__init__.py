"""The panel of subagents, the list of pending requests, and what acts on one agent."""
