"""What a request takes of the model's context window, and how a history is made shorter."""
