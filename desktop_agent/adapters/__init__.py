"""The outside world, one file for each dependency."""
