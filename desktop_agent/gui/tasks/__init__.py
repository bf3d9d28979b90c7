"""The task list and its dependency graph."""
