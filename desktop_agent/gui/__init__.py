"""The window. Qt lives here and in app.py, and nowhere else."""

from desktop_agent.gui.startup import fast_import

# Before anything else of Qt, and before there is a second thread: whatever start loads the
# window, no import runs under the hook of Qt's bindings.
fast_import.restore()
