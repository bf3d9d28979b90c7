"""The page of all changes of a session, and what is asked before they are taken back."""
