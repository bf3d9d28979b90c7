"""Whether a window can be opened at all: Qt ends the process without a word if not."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

# What Qt's X11 plugin needs and a bare system lacks, with the package of Debian and Ubuntu.
_X11_LIBRARIES = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
}


def display_problem(environment: Mapping[str, str] = os.environ) -> str:
    """Return why no window can be opened, in one sentence for a terminal, or nothing."""
    platform = environment.get("QT_QPA_PLATFORM", "")
    if sys.platform != "linux" or (platform and not platform.startswith(("xcb", "wayland"))):
        return ""
    if _has_wayland(environment) and not platform.startswith("xcb"):
        return ""
    is_wayland_alone = bool(platform) and "xcb" not in platform
    if is_wayland_alone and _has_usual_wayland(environment):
        return ""
    name = environment.get("DISPLAY", "")
    if not name:
        return (
            "There is no display to open a window on. Use “desktop-agent run” to work without "
            "a window."
        )
    if is_wayland_alone:
        return (
            f"QT_QPA_PLATFORM is “{platform}”, and no Wayland desktop answers here. Unset it, or "
            "set it to “wayland;xcb”, which takes what there is."
        )
    missing = missing_libraries(_X11_LIBRARIES)
    if missing:
        return f"Some system libraries are missing. Install them with: apt install {missing}"
    if not _can_connect(name):
        return f"The display {name} does not answer. Is it the right one, and are you allowed in?"
    return ""


def missing_libraries(wanted: Mapping[str, str]) -> str:
    """Return the packages of the libraries that can't be loaded, in one line."""
    import ctypes  # only where Qt's X11 plugin is wanted

    missing: list[str] = []
    for library, package in wanted.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing.append(package)
    return " ".join(missing)


def _has_wayland(environment: Mapping[str, str]) -> bool:
    name = environment.get("WAYLAND_DISPLAY", "")
    folder = environment.get("XDG_RUNTIME_DIR", "/")
    return bool(name) and (Path(folder) / name).exists()


def _has_usual_wayland(environment: Mapping[str, str]) -> bool:
    """Whether there is what Wayland's programs try when no name is set."""
    folder = environment.get("XDG_RUNTIME_DIR", "")
    named = environment.get("WAYLAND_DISPLAY", "")
    return bool(folder) and not named and (Path(folder) / "wayland-0").exists()


def _can_connect(name: str) -> bool:
    import ctypes  # as above

    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True  # Qt brings its own; let it try
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(name.encode(), None)
    has_error = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not has_error
