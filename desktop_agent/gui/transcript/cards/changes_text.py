"""What was changed in files, and what was taken back, in words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from desktop_agent.gui.kit.safe_text import duration_text
from desktop_agent.gui.kit.text import with_plural
from desktop_agent.gui.state.change_sets import FileCounts
from desktop_agent.gui.transcript.state.items import ChangesItem, UndoItem
from desktop_agent.gui.transcript.state.rows import NOTABLE_TURN_S

translate = QCoreApplication.translate


def files_text(count: int) -> str:
    """Return a number of files."""
    words = translate("Transcript", "{n} file(s)").format(n=f"{count:,}")
    return with_plural(words, count)


def undone_text() -> str:
    """Return the word for what is taken back."""
    return translate("Transcript", "undone")


def counts_text(counts: FileCounts) -> str:
    """Return the words for what was changed, such as `3 files, +40 −12`."""
    words = files_text(counts.files)
    if counts.added or counts.removed:
        words += f", +{counts.added:,} −{counts.removed:,}"
    return words


def changes_text(item: ChangesItem) -> str:
    """Return the words of a message's end line."""
    words = counts_text(item.counts)
    if item.counts.is_undone:
        words = translate("Transcript", "Undone: {what}").format(what=words)
    if item.seconds < NOTABLE_TURN_S:
        return words
    took = translate("Transcript", "Finished in {time}")
    return f"{took.format(time=duration_text(item.seconds))}  ·  {words}"


def undo_text(item: UndoItem) -> str:
    """Return the words for what the user took back or put back."""
    said = translate("Transcript", "You took back {n} file(s)")
    if item.is_redo:
        said = translate("Transcript", "You put back {n} file(s)")
    words = with_plural(said.format(n=f"{item.changes.count:,}"), item.changes.count)
    if item.is_undone and not item.is_redo:
        words += "  ·  " + translate("Transcript", "put back since")
    return words
