"""Files that are locked, private, lenient or rotated."""
