"""The reducer of events into transcript items. No Qt."""
