"""Where things are: the app's own files, and the person's data. Nobody else knows."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs

_APP = "desktop-agent"
_HOME, _BEFORE = "DESKTOP_AGENT_HOME", "DESKTOP_AGENT_HOME_BEFORE"


def _first_existing(*candidates: Path) -> Path:
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    message = f"the app's own files are missing; looked in {', '.join(map(str, candidates))}"
    raise FileNotFoundError(message)


def resource(name: str) -> Path:
    """Return the path of a file below `resources/`; raises FileNotFoundError without that."""
    here = Path(__file__).parent
    return _first_existing(here / "_resources", here.parent / "resources") / name


def builtin_skills() -> Path:
    """Return the directory of the bundled skills."""
    here = Path(__file__).parent
    return _first_existing(here / "_skills", here.parent / "skills")


def shared_folders() -> tuple[Path, ...]:
    """Return the folders of the person's home in which apps like this one keep skills and roles."""
    home = Path.home()
    return (home / ".agents", home / ".claude")


def data_dir() -> Path:
    """Return the directory for sessions and logs, made for this user alone.

    `DESKTOP_AGENT_HOME` moves data and settings together (tests, portable use).
    """
    home = _home()
    return _private(home / "data" if home else Path(platformdirs.user_data_dir(_APP)))


def config_dir() -> Path:
    """Return the directory for settings, made for this user alone."""
    home = _home()
    return _private(home / "config" if home else Path(platformdirs.user_config_dir(_APP)))


def own_folders() -> tuple[Path, ...]:
    """Return where the app's settings and data are, real paths; nothing is made.

    Those in use, those before `move_home`, and those of a start without `DESKTOP_AGENT_HOME`: all
    are the person's.
    """
    homes = filter(None, (_home(), _home(_BEFORE)))
    moved = (folder for home in homes for folder in (home / "config", home / "data"))
    usual = (Path(platformdirs.user_config_dir(_APP)), Path(platformdirs.user_data_dir(_APP)))
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in (*moved, *usual)))


def program_folders() -> tuple[Path, ...]:
    """Return the virtual environment that the app is installed in, if it is: it may be a
    project's own, and what is changed there runs at the next start.
    """
    return () if sys.prefix == sys.base_prefix else (Path(os.path.realpath(sys.prefix)),)


def log_dir() -> Path:
    """Return the directory for log files; it is made with the log."""
    return data_dir() / "logs"


def images_dir() -> Path:
    """Return the directory for the pictures that a style sheet can only name as files."""
    return _private(data_dir() / "images")


def move_home(place: Path) -> None:
    """Keep settings and data in another place from now on, as the demo does."""
    if before := os.environ.get(_HOME):
        os.environ[_BEFORE] = os.environ.get(_BEFORE) or before
    os.environ[_HOME] = str(place)


def _home(variable: str = _HOME) -> Path | None:
    home = os.environ.get(variable)
    return Path(home) if home else None


def _private(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path
