"""Work that text from outside may cause: it grows with the text, not with its square."""
