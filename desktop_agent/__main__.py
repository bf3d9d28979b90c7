"""`python -m desktop_agent`: the window, or `run` without one."""

import gc

# Nothing of what a start loads is garbage; `main` knows who needs the collector.
gc.disable()

from desktop_agent.app import main  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(main())
