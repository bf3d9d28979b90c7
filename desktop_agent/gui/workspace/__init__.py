"""Choosing the folder an agent may work in."""
