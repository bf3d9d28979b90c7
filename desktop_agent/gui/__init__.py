"""The window. Qt lives here and in app.py, and nowhere else."""
