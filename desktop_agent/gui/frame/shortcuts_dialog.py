"""The sheet of keyboard shortcuts, and what keys are called on this system."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QKeyCombination, Qt
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QDialog, QGridLayout, QVBoxLayout, QWidget

from desktop_agent.gui.kit.lists.keyboard_focus import RingedArea
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import Chip, ElidedLabel, TextButton, TextLabel, named, row

_SHOWN = 15
_WIDE = 44  # in widths of the text size
KeyGroup = tuple[str, Sequence[tuple[str, str]]]


class ShortcutsDialog(QDialog):
    """Lists name and keys of each action that has keys, then `groups` of keys of no action.

    `more` gives further keys of an action, by its name.
    """

    def __init__(
        self,
        theme: Theme,
        actions: Sequence[QAction],
        groups: Sequence[KeyGroup] = (),
        parent: QWidget | None = None,
        *,
        more: dict[str, str] | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("shortcutsDialog")
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        high = theme.size("row")
        everywhere = (self.tr("Everywhere"), _named(actions, more or {}))
        content = _make_content((everywhere, *groups), high, theme.space("xl"))
        area = _WholeRows(high)
        area.setWidgetResizable(True)
        area.setWidget(content)
        named(area, "shortcutList", self.tr("Keyboard shortcuts"))
        close = TextButton(theme, self.tr("Close"), name="closeShortcuts", clicked=self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*(theme.space("xl"),) * 4)
        layout.setSpacing(theme.space("l"))
        layout.addWidget(TextLabel(self.tr("Keyboard shortcuts"), "h2"))
        layout.addWidget(area, 1)
        layout.addLayout(row(None, close))
        room = self.screen().availableSize()
        wide = round(_WIDE * theme.text_px("ui"))
        self.resize(min(wide, room.width()), min(high * (_SHOWN + 4), room.height() - high))


class _WholeRows(RingedArea):
    """Scrolls by rows and ends with one: half a row at the bottom reads like a mistake."""

    def __init__(self, high: int) -> None:
        super().__init__()
        self._high = high

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.setViewportMargins(0, 0, 0, self.contentsRect().height() % self._high)
        self.verticalScrollBar().setSingleStep(self._high)


def _make_content(groups: Sequence[KeyGroup], high: int, gap: int) -> QWidget:
    content = QWidget()
    grid = QGridLayout(content)
    grid.setContentsMargins(0, 0, 12, 0)
    grid.setHorizontalSpacing(gap)
    grid.setVerticalSpacing(0)
    grid.setColumnStretch(0, 1)
    for title, keys in groups:
        _add_group(grid, title, keys)
    for number in range(grid.rowCount()):
        grid.setRowMinimumHeight(number, high)
    grid.setRowStretch(grid.rowCount(), 1)
    return content


def _add_group(grid: QGridLayout, title: str, keys: Sequence[tuple[str, str]]) -> None:
    below = Qt.AlignmentFlag.AlignBottom
    grid.addWidget(TextLabel(title, "title"), _next_row(grid), 0, 1, 2, below)
    for name, words in keys:
        number = _next_row(grid)
        chip = Chip(words)
        chip.setAccessibleName(f"{name}: {words}")
        grid.addWidget(ElidedLabel(name), number, 0)
        grid.addWidget(chip, number, 1, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


def _next_row(grid: QGridLayout) -> int:
    return grid.rowCount() if grid.count() else 0


def _named(actions: Sequence[QAction], more: dict[str, str]) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for action in actions:
        name = action_name(action)
        keys = [*key_names(action), *([more[name]] if name in more else [])]
        if keys and name:
            found.setdefault(name, ", ".join(keys))
    return tuple(found.items())


def action_name(action: QAction) -> str:
    """Return an action's words, without the mark of its access key."""
    return action.text().replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip("…").strip()


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
        _tr("Conversation"): (
            (_tr("Go through your messages, and what can be done with them"), "Alt+↑, Alt+↓"),
            (_tr("Menu of what has the focus, here and in lists"), "Shift+F10"),
            (_tr("Another branch, under a message"), "←, →"),
        ),
        _tr("Session list"): (
            (_tr("Open"), "Enter"),
            (_tr("Rename"), "F2"),
            (_tr("Delete"), "Del"),
            (_tr("Bring back what was deleted"), _tr("Ctrl+Z")),
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
            (_tr("Bring back what was deleted"), _tr("Ctrl+Z")),
        ),
        _tr("Changes"): (
            (_tr("Open in editor"), "Enter"),
            (_tr("Undo…"), _tr("Ctrl+Z")),
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
        _tr("Skills, MCP servers, models"): (
            (_tr("Open"), "Enter"),
            (_tr("Switch on or off"), _tr("Space")),
            (_tr("Use a skill in chat"), "Ctrl+Enter"),
            (_tr("Remove a skill"), "Del"),
            (_tr("Mark a model as favourite"), "Ctrl+D"),
        ),
    }


def _tr(text: str) -> str:
    return QCoreApplication.translate("KeyWords", text)
