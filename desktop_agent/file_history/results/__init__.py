"""What subagents changed in copies elsewhere, until it is applied here."""
