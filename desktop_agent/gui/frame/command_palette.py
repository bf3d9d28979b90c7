"""The command palette: every command, session and setting of the window, found by typing."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.sessions import SessionInfo
from desktop_agent.gui.frame.shortcuts_dialog import action_name, key_names
from desktop_agent.gui.kit.lists.filter_delegate import PickRow
from desktop_agent.gui.kit.lists.filter_list import FilterList, PickField
from desktop_agent.gui.kit.lists.fuzzy import ranked
from desktop_agent.gui.kit.popover import Popover
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextLabel, named

translate = QCoreApplication.translate

_WIDTH = 43  # in widths of the text size
_SHOWN = 10
_TOP = 64
_AROUND = 150  # what stands around the list: search, edges, the room above


class CommandPalette(Popover):
    """Runs the action that was picked.

    Signals:
        session_chosen(session_id): a session was picked
    """

    session_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, translate("CommandPalette", "Commands"), parent)
        self.setObjectName("commandPalette")
        self._actions: tuple[QAction, ...] = ()
        self._sessions: tuple[SessionInfo, ...] = ()
        self._choices: tuple[PickRow, ...] = ()
        self.list = named(FilterList(theme, self.tr("Commands and sessions"), self), "commandList")
        self.list.picked.connect(self._on_picked)
        name = self.tr("Find a command, a session or a setting")
        self.search = _Search(theme, name, self.list, self)
        self.search.setObjectName("commandSearch")
        self.search.textChanged.connect(self._show_rows)
        self.search.left.connect(self.close)
        self._empty = TextLabel(self.tr("Nothing matches"), "subtle", self)
        self._empty.setContentsMargins(8, 8, 8, 8)
        for part in (self.search, self.list, self._empty):
            self.body.addWidget(part)

    def open_over(
        self,
        window: QWidget,
        actions: Sequence[QAction],
        sessions: Sequence[SessionInfo],
        choices: Sequence[PickRow] = (),
    ) -> None:
        """Open in the upper middle of the window; disabled and nameless actions are left out.

        `choices` are further rows, under their headings; the `value` of each can be called.
        """
        self._actions = tuple(one for one in actions if one.isEnabled() and action_name(one))
        self._sessions = tuple(sessions)
        self._choices = tuple(choices)
        self.search.clear()
        self._show_rows()
        self.open_below(window)
        self.search.setFocus(Qt.FocusReason.PopupFocusReason)

    def place(self) -> None:
        """Stay in the middle of the window."""
        window = self.window()
        wide = min(_WIDTH * self._theme.text_px("ui"), window.width() - 2 * self._MARGIN)
        self._frame.setFixedWidth(max(wide, 200))
        # The frame has to know its new height before the popover takes its size.
        self.body.activate()
        self.adjustSize()
        self.move((window.width() - self.width()) // 2, min(_TOP, window.height() // 8))

    def _show_rows(self) -> None:
        query = self.search.text().strip()
        commands = tuple(self._command(number) for number in range(len(self._actions)))
        sessions = tuple(self._session(info) for info in self._sessions)
        if query:
            choices = tuple(row for row in self._choices if not row.is_heading)
            rows = ranked(query, commands + sessions + choices, lambda row: row.title)
        else:
            rows = self._under(self.tr("Commands"), commands)
            rows += self._under(self.tr("Sessions"), sessions)
            rows += self._choices
        self.list.show_rows(rows)
        self.list.setVisible(bool(rows))
        room = max(self.window().height() - _AROUND, 100)
        self.list.setFixedHeight(min(self.list.height_for(_SHOWN), room))
        self._empty.setVisible(not rows)
        self.place()

    def _under(self, title: str, rows: tuple[PickRow, ...]) -> tuple[PickRow, ...]:
        return (PickRow(f"#{title}", title, is_heading=True), *rows) if rows else ()

    def _command(self, number: int) -> PickRow:
        action = self._actions[number]
        keys = next(iter(key_names(action)), "")
        icon = "check" if action.isCheckable() and action.isChecked() else "terminal"
        return PickRow(f"action {number}", action_name(action), icon=icon, tag=keys, value=action)

    def _session(self, info: SessionInfo) -> PickRow:
        title = info.title or self.tr("New session")
        return PickRow(
            f"session {info.id}",
            title,
            icon="message-square",
            tag=info.workspace.name,
            value=info.id,
        )

    def _on_picked(self, picked: PickRow) -> None:
        self.close()
        if isinstance(picked.value, QAction):
            picked.value.trigger()
        elif callable(picked.value):
            picked.value()
        else:
            self.session_chosen.emit(picked.value)


class _Search(PickField):
    """Esc leaves at once: what was typed is of no use afterwards."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            event.accept()
            self.left.emit()
        else:
            super().keyPressEvent(event)
