"""The verbs: the agent loop and all that it decides. asyncio, no Qt, no provider, no SQL."""
