"""The text document: Markdown parsed, written and highlighted."""
