"""Where the frozen app begins."""

import gc
import os
import sys

# Nothing of what a start loads is garbage; `main` knows who needs the collector.
gc.disable()


# Said to us by an AppImage; a shell that we start would take `ARGV0` for its own.
_OF_AN_APPIMAGE = ("APPDIR", "APPIMAGE", "ARGV0", "OWD")


def _give_back_the_environment() -> None:
    """Undo what was set for us alone: programs that we start have their own libraries.

    Those that are ours too: a start that takes itself for a part of another one does not look for
    the libraries that are packed beside it, and what the system lacks would be missing there.
    """
    if sys.platform == "linux":
        for name in [name for name in os.environ if name.startswith("_PYI_")]:
            del os.environ[name]
        before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
        if before is None:
            os.environ.pop("LD_LIBRARY_PATH", None)
        else:
            os.environ["LD_LIBRARY_PATH"] = before
        if sys.executable.startswith(os.environ.get("APPDIR", "none") + os.sep):
            for name in _OF_AN_APPIMAGE:
                os.environ.pop(name, None)


def _keep_the_archive() -> None:
    """Go on with the modules that we began with when an update puts another file in our place.

    PyInstaller opens the archive anew for each module, by its name, and what stands elsewhere in
    another version's is not what it looks for: the settings would no longer open.
    """
    importers = sys.modules.get("pyimod02_importers")
    running = "/proc/self/exe"
    if importers is not None and os.path.exists(running):  # noqa: PTH110 - the first thing of all
        importers.pyz_archive._filename = running


if __name__ == "__main__":
    _keep_the_archive()
    _give_back_the_environment()
    from desktop_agent.app import main

    raise SystemExit(main())
