"""Shell commands: parsed, classified, proven read-only or denied."""
