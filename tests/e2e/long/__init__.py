"""The engine killed over long work: subagents, compactions, branches, an MCP server."""
