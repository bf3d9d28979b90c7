"""What happens between the start of the process and the first paint."""
