"""Keeps what files were before agents changed them, and puts it back (RULES W8)."""
