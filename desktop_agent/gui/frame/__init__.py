"""What stands around the conversation: sidebar, header, side panel, palette, focus."""
