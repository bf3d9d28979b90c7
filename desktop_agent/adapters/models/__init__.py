"""The model host's pipe, model catalogues and local servers."""
