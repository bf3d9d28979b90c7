"""The page of usage."""
