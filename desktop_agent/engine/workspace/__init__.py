"""Containment of paths in the workspace."""
