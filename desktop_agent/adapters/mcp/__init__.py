"""MCP servers: their file, their commands, and the process that speaks with them."""
