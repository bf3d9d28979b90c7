"""The entry: `serve(fd, folder)` with one end of a socket pair, and where the history is kept."""

from __future__ import annotations

import sys
from pathlib import Path

from desktop_agent.file_history.process import serve

if __name__ == "__main__":
    raise SystemExit(serve(int(sys.argv[1]), Path(sys.argv[2])))
