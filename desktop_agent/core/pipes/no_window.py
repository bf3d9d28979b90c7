"""Programs for a terminal, started by an app that has none."""

import sys

# For `creationflags`. Without it Windows shows a console for each of them while it runs. It is
# subprocess.CREATE_NO_WINDOW, which other systems don't have.
NO_WINDOW = 0x08000000 if sys.platform == "win32" else 0
