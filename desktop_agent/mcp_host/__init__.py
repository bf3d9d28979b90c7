"""The process that speaks MCP: the SDK and pydantic are loaded here and nowhere else."""
