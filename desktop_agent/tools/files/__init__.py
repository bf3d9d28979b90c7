"""Tools that read, find and change files."""
