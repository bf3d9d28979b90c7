"""The line at a message's end that tells what was changed in files, and takes it back."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from desktop_agent.core.changes import UndoScope
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.gui.kit.safe_text import plain_tip, with_marks
from desktop_agent.gui.kit.widgets import ElidedLabel, GhostButton, IconLabel, row
from desktop_agent.gui.state.change_sets import FileCounts
from desktop_agent.gui.transcript.cards.card import Card, CardHost
from desktop_agent.gui.transcript.cards.changes_text import changes_text, undo_text
from desktop_agent.gui.transcript.state.items import ChangesItem, ToolItem, UndoItem

translate = QCoreApplication.translate
_ICON = 16


class ChangesCard(Card):
    """One quiet line with buttons: what was changed, or what the user took back."""

    def __init__(self, host: CardHost, item: ChangesItem | UndoItem) -> None:
        super().__init__(host.theme, host.ground, ground="", edge="")
        self._host = host
        self.setObjectName("changesCard")
        text = changes_text(item) if isinstance(item, ChangesItem) else undo_text(item)
        icon = "file-diff"
        if isinstance(item, UndoItem):
            icon = "redo-2" if item.is_redo else "undo-2"
        words = ElidedLabel(text, role="muted", parent=self)
        words.setObjectName("changesText")
        self.setAccessibleName(text)
        mark = IconLabel(host.theme, icon, "muted", _ICON, self)
        buttons = [*self._table_buttons(item), self._show_button(), *self._buttons(item)]
        line = row(4, mark, (words, 1), *buttons, spacing=host.theme.space("xs"))
        self.body.addLayout(line)

    def _buttons(self, item: ChangesItem | UndoItem) -> list[QWidget]:
        host = self._host
        if isinstance(item, UndoItem):
            may_redo = not (item.is_redo or item.is_undone)
            return [_redo(host, _scope(host, set_id=item.key), self)] if may_redo else []
        scope = _scope(host, message_id=item.message_id, agent_id=item.agent_id)
        return undo_buttons(host, item.counts, scope, self)

    def _table_buttons(self, item: ChangesItem | UndoItem) -> list[QWidget]:
        tables = item.counts.tables if isinstance(item, ChangesItem) else ()
        return [table_button(self._host, path, self) for path in tables]

    def _show_button(self) -> QWidget:
        button = GhostButton(self._theme, self.tr("Changes"), "", self)
        button.setObjectName("showChanges")
        button.setToolTip(self.tr("Look at what was changed (Ctrl+Shift+D)"))
        button.clicked.connect(self._host.changes_requested)
        return button


def table_button(host: CardHost, path: str, parent: QWidget) -> QWidget:
    """Return the button that shows a file as a table."""
    words = translate("Transcript", "Open table")
    button = GhostButton(host.theme, words, "list", parent, name="openTable")
    button.setToolTip(plain_tip(with_marks(path)))
    button.setAccessibleName(f"{words}, {with_marks(path)}")
    button.clicked.connect(lambda: host.table_requested.emit(path))
    return button


def undo_buttons(
    host: CardHost,
    counts: FileCounts | None,
    scope: UndoScope | None,
    parent: QWidget,
    *,
    is_short: bool = False,
) -> list[QWidget]:
    """Return the button that takes changes back, or puts them back; none without changes.

    On a card with other buttons it is short; what is spoken is the same.
    """
    if counts is None or scope is None:
        return []
    if counts.is_undone:
        if not counts.undone_by:
            return []
        # Of an undo that took back more, only a single file can be put back by itself.
        path = "" if counts.is_alone else counts.path
        put_back = _scope(host, set_id=counts.undone_by, path=path)
        return [_redo(host, put_back, parent, is_seen=counts.is_alone or bool(path))]
    words = translate("Transcript", "Undo these changes")
    shown = translate("Transcript", "Undo") if is_short else words
    button = GhostButton(host.theme, shown, "undo-2", parent)
    button.setObjectName("undoChanges")
    button.setAccessibleName(words)
    unheld = with_marks("\n".join(counts.unheld))
    button.setAccessibleDescription(unheld)
    button.setToolTip(plain_tip(unheld))
    button.clicked.connect(lambda: host.undo_requested.emit(scope))
    return [button]


def _redo(
    host: CardHost, scope: UndoScope | None, parent: QWidget, *, is_seen: bool = True
) -> QWidget:
    button = GhostButton(host.theme, translate("Transcript", "Redo"), "redo-2", parent)
    button.setObjectName("redoChanges")
    button.clicked.connect(lambda: host.redo_requested.emit(scope, is_seen))
    return button


def _scope(
    host: CardHost,
    *,
    message_id: MessageId | None = None,
    agent_id: AgentId | None = None,
    call_id: str = "",
    set_id: str = "",
    path: str = "",
) -> UndoScope | None:
    session = host.session
    if session is None:
        return None
    return UndoScope(session.id, message_id, call_id, agent_id, set_id, path=path)


def scope_of_call(host: CardHost, item: ToolItem) -> UndoScope | None:
    """Return what a tool call did; one set is named by its id, as ids of calls are not unique."""
    if len(item.set_ids) == 1:
        return _scope(host, set_id=item.set_ids[0])
    return _scope(host, call_id=item.key)


def scope_of_agent(host: CardHost, agent_id: AgentId) -> UndoScope | None:
    """Return all that an agent did."""
    return _scope(host, agent_id=agent_id)
