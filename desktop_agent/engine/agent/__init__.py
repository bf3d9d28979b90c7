"""One agent: its loop, inbox, requests, tool calls and limits."""
