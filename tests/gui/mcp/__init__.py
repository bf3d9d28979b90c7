"""The window about MCP servers."""
