"""What the texts of a message are, and what results of tools say, as values."""
