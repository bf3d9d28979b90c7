"""Choosing a language model, its server and its key."""
