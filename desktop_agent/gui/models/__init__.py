"""Item models fed by snapshots."""
