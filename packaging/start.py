"""Where the frozen app begins."""

import gc
import os
import sys

# Nothing of what a start loads is garbage; `main` knows who needs the collector.
gc.disable()


def _give_back_the_library_path() -> None:
    """Undo what the loader did to find our libraries: programs that we start have their own."""
    if sys.platform == "linux":
        before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
        if before is None:
            os.environ.pop("LD_LIBRARY_PATH", None)
        else:
            os.environ["LD_LIBRARY_PATH"] = before


if __name__ == "__main__":
    _give_back_the_library_path()
    from desktop_agent.app import main

    raise SystemExit(main())
