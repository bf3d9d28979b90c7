"""The nouns: frozen values and pure functions. No input or output happens here."""
