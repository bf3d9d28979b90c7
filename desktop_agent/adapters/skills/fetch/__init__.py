"""Fetching skills from git, the web, archives and folders, within bounds."""
