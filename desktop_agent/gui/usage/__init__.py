"""The page that says what was used."""
