"""Servers of the Model Context Protocol: kept running, and their tools offered to agents."""
