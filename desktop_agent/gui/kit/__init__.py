"""Widgets, text and drawing that know nothing of agents."""
