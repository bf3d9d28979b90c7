"""What differs between two lists or texts."""
