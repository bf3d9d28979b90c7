"""The web_fetch tool."""
