"""Windows spellings that reach a file by a second name, or reach no file at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PureWindowsPath

_RESERVED = {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"} | {
    f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"
}
# A drive or another of PowerShell's, a share, a place by its provider's name.
_ROOTED = re.compile(r"[a-z]:|\w+:[\\/]|[\\/]|[\w.\\-]+::", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:env:(\w+)|\{env:([^}]+)\})", re.IGNORECASE)
_SWITCH = re.compile(r"/[a-z?]{1,2}", re.IGNORECASE)
_SHORT_NAME = re.compile(r"~\d+(\.|$)")


def refusal(path: str, roots: Iterable[str] = ()) -> str:
    """Return why Windows must not be given this path, or nothing when it is plain.

    A share is, where one of the `roots` is on it and holds the path.
    """
    plain = path.replace("/", "\\")
    for root in roots:
        if plain.startswith("\\\\") and PureWindowsPath(plain).is_relative_to(root):
            plain = str(PureWindowsPath(plain).relative_to(root))
    if plain.startswith("\\\\"):
        return "is a device or network path."
    drive, _, rest = plain.partition(":")
    if len(drive) == 1 and rest and not rest.startswith("\\"):
        return "is relative to a drive; give the whole path."
    if len(drive) == 1 and not rest and plain.endswith(":"):
        return "is relative to a drive; give the whole path."
    tail = rest if len(drive) == 1 and plain[1:2] == ":" else plain
    for name in PureWindowsPath(tail).parts:
        if reason := _name_refusal(name):
            return reason
    return ""


def without_prefix(path: str) -> str:
    r"""Return a path as it is given elsewhere: the system begins its own with `\\?\`."""
    if path.startswith("\\\\?\\UNC\\"):
        return f"\\\\{path[8:]}"
    return path.removeprefix("\\\\?\\")


def is_rooted(path: str) -> bool:
    """Whether PowerShell looks for it elsewhere than below the folder it is in."""
    return _ROOTED.match(path) is not None


def paths_in(word: str) -> Iterator[str]:
    """Yield what PowerShell may open for a word: each of a list with commas, the value behind
    `-Path:`, and the file that a stream (`a.txt:notes`) is a part of.
    """
    for piece in word.split(","):
        yield piece
        before, colon, behind = piece.partition(":")
        if not colon:
            continue
        if before.startswith("-"):
            yield behind
        elif len(before) > 1:
            yield before
        else:
            yield f"{before}:{behind.partition(':')[0]}"


def with_percent_signs(path: str) -> str:
    """Return the path with PowerShell's variables (`$env:TEMP`) as the system writes them."""
    return _VARIABLE.sub(lambda found: f"%{found[1] or found[2]}%", path)


def is_switch(word: str) -> bool:
    """Whether it is an option of the system's own programs, as in `cmd /c`."""
    return _SWITCH.fullmatch(word) is not None


def _name_refusal(name: str) -> str:
    if name in {"\\", ".", ".."}:
        return ""
    if ":" in name:
        return "names an alternate stream."
    if name.endswith((".", " ")):
        return "has a name that ends with a dot or a space."
    if name.split(".")[0].rstrip().casefold() in _RESERVED:
        return "is a reserved device name."
    if _SHORT_NAME.search(name):
        return "uses a short (8.3) name; give the whole name."
    if any(character in '<>"|?*' or ord(character) < 32 for character in name):
        return "holds a character that names can't have."
    return ""
