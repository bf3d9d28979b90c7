"""The first run: a model, then a folder."""
