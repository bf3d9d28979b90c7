"""Settings, keys and the update check."""
