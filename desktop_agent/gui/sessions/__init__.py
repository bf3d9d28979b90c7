"""The list of sessions and the page of an empty one."""
