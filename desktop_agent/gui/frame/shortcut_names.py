"""The keys of the whole app in words: of its commands, and of what no command stands for."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QKeyCombination, Qt
from PySide6.QtGui import QAction, QKeySequence

KeyGroup = tuple[str, Sequence[tuple[str, str]]]


def key_names(action: QAction) -> list[str]:
    """Return the keys of an action that a usual keyboard has, by the names printed on them."""
    shown = [keys for keys in action.shortcuts() if not _is_special(keys)]
    return [keys.toString(QKeySequence.SequenceFormat.NativeText) for keys in shown]


def _is_special(keys: QKeySequence) -> bool:
    """Tell a key for one purpose, such as *Open* or *Zoom In*, that few keyboards have."""
    # The stubs do not know that a sequence can be indexed.
    parts: list[QKeyCombination] = [
        keys[place]  # pyright: ignore[reportIndexIssue]
        for place in range(keys.count())
    ]
    return any(part.key() >= Qt.Key.Key_Back for part in parts)


def other_keys(*, send: str, other: str) -> tuple[KeyGroup, ...]:
    """Return the keys that depend on where the focus is. `send` sends, `other` does it now."""
    groups = {
        _tr("Message box"): (
            (_tr("Send"), send),
            (_tr("Queue, or steer, the other way round"), other),
            (_tr("New line"), "Shift+Enter"),
            (_tr("Earlier messages"), _tr("↑, ↓ in the empty box")),
        ),
        _tr("Questions and requests"): (
            (_tr("Allow once"), "Enter"),
            (_tr("Refuse"), "Esc"),
            (_tr("Go through the answers"), "↑, ↓"),
            (_tr("Choose an answer"), _tr("Space")),
            (_tr("Send the answer"), "Enter"),
        ),
        _tr("Session list"): (
            (_tr("Open"), "Enter"),
            (_tr("Rename"), "F2"),
            (_tr("Delete"), "Del"),
            (_tr("Bring back what was deleted"), "Ctrl+Z"),
        ),
        **_panel_keys(),
    }
    return tuple(groups.items())


def _panel_keys() -> dict[str, tuple[tuple[str, str], ...]]:
    return {
        _tr("Task list"): (
            (_tr("Open a task"), "Enter"),
            (_tr("Rename"), "F2"),
            (_tr("Mark as done, or reopen"), _tr("Space")),
            (_tr("Move up or down"), "Alt+↑, Alt+↓"),
            (_tr("Delete"), "Del"),
            (_tr("Bring back what was deleted"), "Ctrl+Z"),
        ),
        _tr("Changes"): (
            (_tr("Open in editor"), "Enter"),
            (_tr("Undo…"), "Ctrl+Z"),
            (_tr("Back to the conversation"), "Esc"),
        ),
        _tr("Subagents"): (
            (_tr("Open transcript"), "Enter"),
            (_tr("Steer"), "S"),
            (_tr("Answer"), "A"),
            (_tr("Probe"), "P"),
            (_tr("Pause or resume"), _tr("Space")),
            (_tr("Stop"), "Del"),
        ),
    }


def _tr(text: str) -> str:
    return QCoreApplication.translate("KeyWords", text)
