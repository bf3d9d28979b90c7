"""The skills page, its dialogs, and trust in what a folder brings."""
