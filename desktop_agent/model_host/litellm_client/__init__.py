"""Requests through litellm: messages out, a checked stream of events in."""
