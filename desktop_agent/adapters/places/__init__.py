"""Reaches places beyond this computer, over a byte stream."""
