"""The message box: text, attachments, completions, mode and model."""
