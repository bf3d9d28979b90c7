"""Text for labels: on one line, without marks, shortened."""

from __future__ import annotations

import re
import sys

import msgspec
from PySide6.QtCore import QCoreApplication

# Code in its backticks, where stars are just stars; or else bold text.
_MARKS = re.compile(
    r"(?<!`)(`+)(?!`) ?([^`]+?) ?\1(?!`)|\*\*(?=\w)([^*`]+?)(?<=[\w.!?…])\*\*(?!\w)"
)

# What a person writes to an agent may be long: a field of one line cuts at 32,767 by itself.
LONGEST_LINE = 1_000_000

_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
translate = QCoreApplication.translate


def native_keys(text: str, *, is_mac: bool = sys.platform == "darwin") -> str:
    """Return a text with keys called as on this system's keyboards: Qt's Ctrl is ⌘ on a Mac."""
    return text.replace("Ctrl+Shift+", "⇧⌘").replace("Ctrl+", "⌘") if is_mac else text


def short_count(count: int) -> str:
    """Return a count such as `950`, `42.7k` or `1.2M`."""
    if count < 1_000:
        return str(count)
    if count < 99_950:
        return f"{count / 1_000:.1f}".removesuffix(".0") + "k"
    if count < 999_500:
        return f"{count / 1_000:.0f}k"
    return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"


def plain_words(text: str) -> str:
    """Return Markdown as words for one line: code and bold text without the marks around them."""
    return plain(unmarked(text))


def unmarked(text: str) -> str:
    """Return Markdown without the marks around its code and bold text, on as many lines."""
    return _MARKS.sub(lambda found: found[2] or found[3], text)


def plain(text: str) -> str:
    """Return text from a model on one line, without marks that turn its direction."""
    flat = " ".join(text.split())
    if flat.isascii() and flat.isprintable():
        return flat
    return "".join(one for one in flat if one not in _TURNING and (one.isprintable() or one == " "))


def whole_words(text: str, cut: str) -> str:
    """Return a text that was cut with `…`, cut after a whole word where that leaves the most."""
    kept = cut.removesuffix("…")
    if cut == text or text[len(kept) : len(kept) + 1].isspace():
        return cut
    whole = kept.rpartition(" ")[0].rstrip()
    return f"{whole}…" if len(whole) * 2 >= len(kept) else cut


def size_text(count: int) -> str:
    """Return a number of bytes for people."""
    size = float(count)
    for unit in ("bytes", "KB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"


def with_plural(shown: str, number: int) -> str:
    """Return the text with every `(s)` replaced according to the number."""
    return shown.replace("(s)", "" if number == 1 else "s")


class StopWords(msgspec.Struct, frozen=True):
    """Who stopped an agent, in words that also stand within a sentence."""

    nobody: str = "stopped"
    user: str = "stopped by you"
    app: str = "stopped when the app was closed"
    ended: str = "stopped because its parent ended"
    agent: str = "stopped by {name}"
    parent: str = "stopped by its parent"

    def of(self, by: str, name: str) -> str:
        """Return who stopped it; `name` is the name of the agent that did, if it is known."""
        known = {"": self.nobody, "user": self.user, "app": self.app, "ended": self.ended}
        if by in known:
            return known[by]
        return self.agent.replace("{name}", plain(name)) if plain(name) else self.parent


def stop_words() -> StopWords:
    """Return the words for who stopped an agent."""
    return StopWords(
        nobody=translate("Agents", "stopped"),
        user=translate("Agents", "stopped by you"),
        app=translate("Agents", "stopped when the app was closed"),
        ended=translate("Agents", "stopped because its parent ended"),
        agent=translate("Agents", "stopped by {name}"),
        parent=translate("Agents", "stopped by its parent"),
    )
