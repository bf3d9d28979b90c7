"""Sessions as files: export to Markdown, HTML and JSON, and import of the JSON. No Qt."""
