"""Skills, instructions and roles: found, trusted, offered."""
