"""`python -m desktop_agent`: the window, or `run` without one."""

import gc
import os
import sys

# `python -m` puts the current folder first, and agents may work there: it must provide no module,
# neither now nor when one is first needed.
_ABOVE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
_IS_PLAIN = __name__ == "__main__" and not (sys.flags.safe_path or getattr(sys, "frozen", False))
if _IS_PLAIN and sys.path[:1] != [_ABOVE]:
    del sys.path[0]

# Nothing of what a start loads is garbage; `main` knows who needs the collector.
gc.disable()

from desktop_agent.app import main  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(main())
