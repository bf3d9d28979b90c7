"""Prose for a model, made from the parts of messages."""
