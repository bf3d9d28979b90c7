"""The ports of the engine, and the road of events to the store."""
