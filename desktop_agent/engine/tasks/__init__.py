"""The task list of an agent, its dependencies, and edits by the user."""
