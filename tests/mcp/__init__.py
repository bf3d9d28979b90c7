"""MCP from a server to the window, with real servers."""
