"""Dialogs that several panels use."""
