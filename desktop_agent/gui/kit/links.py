"""Opening what the user asked to open, and reading what they dropped."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QDropEvent

from desktop_agent import paths
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.safe_text import with_marks

_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::1", "::"})
_SCHEMES = ("http", "https", "mailto")
# What a desktop starts, or may start, where it is told to open it.
_STARTED = frozenset({
    ".desktop", ".appimage", ".run", ".jar", ".jnlp", ".exe", ".msi", ".com", ".bat", ".cmd",
    ".app", ".command", ".tool", ".terminal", ".workflow", ".action", ".pkg", ".mpkg",
    ".fileloc", ".inetloc", ".webloc", ".url", ".lnk",
})  # fmt: skip
# Of Windows itself, and of what is often installed there: Git starts `.sh`, Office `.xll`.
_STARTED_ON_WINDOWS = frozenset({
    ".application", ".appref-ms", ".chm", ".cpl", ".hta", ".inf", ".js", ".jse", ".msc", ".msp",
    ".pif", ".ps1", ".py", ".pyw", ".reg", ".scf", ".scr", ".settingcontent-ms", ".vb", ".vbe",
    ".vbs", ".ws", ".wsf", ".wsh",
    ".ahk", ".appinstaller", ".appx", ".appxbundle", ".diagcab", ".library-ms", ".msix",
    ".msixbundle", ".msu", ".pl", ".pyc", ".pyz", ".pyzw", ".rb", ".rbw", ".rdp", ".sct", ".sh",
    ".wsc", ".xll",
})  # fmt: skip


def open_link(address: str) -> None:
    """Open a web or mail address in the user's browser; other kinds are ignored."""
    url = QUrl(address)
    if url.scheme() in _SCHEMES:
        QDesktopServices.openUrl(url)


def local_port(address: str) -> int:
    """Return the port that an address names of this computer; 0 for any other address."""
    url = QUrl(address)
    is_web = url.scheme() in ("http", "https")
    return url.port(0) if is_web and url.host() in _LOCAL_HOSTS else 0


def open_local(address: str, port: int) -> None:
    """Open an address of this computer at the port where it is reached; with 0 as it is."""
    url = QUrl(address)
    if port:
        url.setPort(port)
        # At `localhost` somebody else may answer, by the newer protocol.
        url.setHost("127.0.0.1")
    open_link(plain_address(url))


def plain_address(url: QUrl) -> str:
    """Return the address as it goes out: ASCII alone."""
    return bytes(url.toEncoded().data()).decode("ascii", "replace")


def host_of(url: QUrl) -> str:
    """Return the host in punycode, or the mail address."""
    if url.scheme() == "mailto":
        return with_marks(url.path())
    return url.host(QUrl.ComponentFormattingOption.FullyEncoded)


def open_path(path: str, workspace: Workspace | None) -> bool:
    """Open a file or folder with the user's program; return whether it may be and is there.

    It may be below the session's folders, and be the whole output of a command. Of what a desktop
    would start its folder is opened: an agent may have written it.
    """
    if workspace is None:
        return False
    real = real_path(path.rpartition(":")[0] if _has_line(path) else path, workspace)
    # A method of the path would raise on a name that is too long.
    if real is None or not os.path.exists(real):  # noqa: PTH110
        return False
    shown = real.parent if _is_started(real) else real
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(shown)))
    return True


def _is_started(real: Path) -> bool:
    kind = Path(real.name.rstrip(". ")).suffix.casefold()
    if kind in _STARTED or (sys.platform == "win32" and kind in _STARTED_ON_WINDOWS):
        return True
    # The Finder runs a program without a suffix in a terminal.
    is_program = sys.platform == "darwin" and not kind and real.is_file()
    return is_program and os.access(real, os.X_OK)


def real_path(path: str, workspace: Workspace) -> Path | None:
    """Return where a path leads, links followed; None outside the session's folders."""
    try:
        real = (Path(workspace.root) / path).resolve()
    except (OSError, RuntimeError, ValueError):  # too long, a loop of links, a NUL
        return None
    outputs = str((paths.data_dir() / "outputs").resolve())
    is_inside = any(real.is_relative_to(root) for root in (*workspace.read_roots, outputs))
    return real if is_inside else None


def dropped_folder(mime: QMimeData) -> str:
    """Return the first folder where nothing but folders is dragged, else an empty text."""
    found = dropped_paths(mime)
    # A method of the path would raise on a name that is too long.
    return str(found[0]) if found and all(os.path.isdir(path) for path in found) else ""  # noqa: PTH112


def dropped_paths(mime: QMimeData) -> list[Path]:
    """Return the files and folders in what is dragged or pasted."""
    return [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()]


def accept_copy(event: QDropEvent) -> None:
    """Take what is dragged as a copy, whatever is proposed: what was moved, its source deletes."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()


def copy_from_outside(event: QDropEvent) -> None:
    """Have another program keep what a field has just taken as it was proposed."""
    # Its stub does not know that a source elsewhere is none.
    if event.isAccepted() and event.source() is None:  # pyright: ignore[reportUnnecessaryComparison]
        accept_copy(event)


def _has_line(path: str) -> bool:
    """Whether the path ends with a line number, as in `src/app.py:12`."""
    head, colon, line = path.rpartition(":")
    return bool(head and colon and line.isdecimal())
