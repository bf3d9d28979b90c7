"""Installed skills: origin, state, changes."""
