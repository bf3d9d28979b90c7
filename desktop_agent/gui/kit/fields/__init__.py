"""What is typed into, and how it is typed."""
