"""Prose for a model, made from the parts of messages, and Markdown made of foreign text."""
