"""The outpost's own process: `python -m desktop_agent.outpost NAME`."""

from __future__ import annotations

import sys

from desktop_agent.outpost.relay import serve

if __name__ == "__main__":
    raise SystemExit(serve(sys.argv[1]))
