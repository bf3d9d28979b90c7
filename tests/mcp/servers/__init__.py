"""Servers that tests start: one that behaves, and some that don't."""
