"""What the texts of a message are, and how they are told to a model."""
