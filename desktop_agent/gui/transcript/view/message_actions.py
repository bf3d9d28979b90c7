"""What can be done with a message: by buttons beside it, by keys, and in the context menu."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QTextCursor, QTextFrame, QTextTableCell
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconButton, restyle, row
from desktop_agent.gui.state.branch_draft import BranchDraft
from desktop_agent.gui.transcript.cards.card import CardHost
from desktop_agent.gui.transcript.document.document import ShownRow, TranscriptDocument
from desktop_agent.gui.transcript.document.styles import FRAME_KIND
from desktop_agent.gui.transcript.state.items import AnswerItem, UserItem
from desktop_agent.gui.transcript.view.browser import STEPS, TranscriptBrowser
from desktop_agent.gui.transcript.view.table_data import Table, pipe_table, table_of

translate = QCoreApplication.translate

_SAID = 200
_LOWER_EDGE = 6  # of a bubble, below its words
# Those that are buttons beside the message.
_ICONS = {"copy": "copy", "edit": "square-pen", "branch": "workflow", "again": "refresh-cw"}


class Action(msgspec.Struct, frozen=True):
    """Something to be done with a message; `name` is a key of `action_words`."""

    name: str
    act: Callable[[], object]


def action_words() -> dict[str, str]:
    """Return what the actions are called."""
    return {
        "copy": translate("Transcript", "Copy message"),
        "edit": translate("Transcript", "Edit and send again"),
        "branch": translate("Transcript", "Branch from here"),
        "again": translate("Transcript", "Try again"),
        "remember": translate("Transcript", "Remember this…"),
    }


def copy_text(text: str) -> None:
    """Put text on the clipboard."""
    QGuiApplication.clipboard().setText(text)


class MessageActions:
    """What a message offers. In a subagent's transcript there are no branches."""

    def __init__(self, view: CardHost) -> None:
        self._view = view

    def of(self, item: object, selected: str = "") -> list[Action]:
        """Return what can be done with a row, in the order shown; nothing with other rows.

        What is remembered is `selected`, if anything is.
        """
        if not isinstance(item, UserItem | AnswerItem):
            return []
        words = selected or item.text
        remember = Action("remember", partial(self._view.remember_requested.emit, words))
        return [*self._of_message(item), remember]

    def newest(self, item: UserItem | AnswerItem) -> UserItem | AnswerItem:
        """Return a message as it is by now: it may have grown since it was pointed at."""
        found = self._view.transcript.item(item.key)
        return found if isinstance(found, UserItem | AnswerItem) else item

    def _of_message(self, item: UserItem | AnswerItem) -> list[Action]:
        # Of an answer that still comes, all that is there when it is pressed.
        found = [Action("copy", lambda: copy_text(self.newest(item).text))]
        if isinstance(item, UserItem):
            return [*found, *self._of_user(item)]
        said = self._said_before(item) if self._view.has_branches else None
        if said is not None:
            again = partial(self._view.again_requested.emit, said.message_id)
            found.append(Action("again", again))
        return found

    def _of_user(self, item: UserItem) -> list[Action]:
        view = self._view
        if view.is_read_only:
            return []
        if not (view.has_branches and item.is_from_user):
            return [Action("edit", partial(view.edit_requested.emit, item.text, item.skills))]
        same = BranchDraft(item.message_id, item.text)
        edited = BranchDraft(item.message_id, item.text, True, item.skills, item.attachments)
        # What was never delivered is sent as it is; else what followed it stays on its branch.
        again = partial(view.again_requested.emit, item.message_id)
        return [
            Action("edit", partial(view.branch_requested.emit, edited)),
            Action("branch", partial(view.branch_requested.emit, same)),
            Action("again", view.resume_requested.emit if item.state == "failed" else again),
        ]

    def _said_before(self, answer: AnswerItem) -> UserItem | None:
        said: UserItem | None = None
        for item in self._view.transcript.items:
            if item.key == answer.key:
                return said
            if isinstance(item, UserItem) and item.is_from_user:
                said = item
        return None


def has_actions(row: object) -> bool:
    """Whether the keys that go from message to message stop at a row."""
    return isinstance(row, UserItem) and row.is_from_user


def message_menu(
    browser: TranscriptBrowser,
    at: QPoint,
    actions: MessageActions,
    show_table: Callable[[Table], object],
) -> QMenu:
    """Return the menu for what is at a place of the viewport."""
    menu = QMenu(browser)

    def add(words: str, act: Callable[[], object]) -> None:
        menu.addAction(words).triggered.connect(lambda: act())

    add(translate("Transcript", "Copy"), browser.copy)
    menu.actions()[0].setEnabled(browser.textCursor().hasSelection())
    link = browser.anchorAt(at)
    if link and not link.startswith("app:"):
        add(translate("Transcript", "Copy link address"), lambda: copy_text(link))
    code = _code_around(browser.cursorForPosition(at))
    if code is not None:
        add(translate("Transcript", "Copy code"), lambda: browser.copy_frame(code))
    table = _table_around(browser.cursorForPosition(at), code)
    if table is not None:
        add(translate("Transcript", "Open as table"), lambda: show_table(table))
    shown = browser.row_at(QPointF(at))
    words = action_words()
    selected = browser.textCursor().selectedText()
    for action in actions.of(shown.row, selected) if shown is not None else ():
        add(words[action.name], action.act)
    menu.addSeparator()
    add(translate("Transcript", "Select all"), browser.selectAll)
    return menu


def _code_around(cursor: QTextCursor) -> QTextFrame | None:
    frame = cursor.currentFrame()
    while frame and frame.frameFormat().property(FRAME_KIND) != "code":
        frame = frame.parentFrame()
    return frame or None


def _table_around(cursor: QTextCursor, code: QTextFrame | None) -> Table | None:
    """Return the table at a place, also one so large that it is shown as it was written."""
    if code is not None:
        chosen = code.firstCursorPosition()
        chosen.setPosition(code.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
        return pipe_table(chosen.selectedText().replace("\u2029", "\n"))
    found = cursor.currentTable()
    if not found:
        return None
    cells = [
        [_text_of(found.cellAt(line, at)) for at in range(found.columns())]
        for line in range(found.rows())
    ]
    return table_of(cells)


def _text_of(cell: QTextTableCell) -> str:
    chosen = cell.firstCursorPosition()
    chosen.setPosition(cell.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
    return chosen.selectedText()


class HoverBar(QWidget):
    """Stands beside the message under the pointer, or the one that was gone to by keys.

    Then it has the focus: Left and Right go through its buttons, Alt+Up and Alt+Down to the other
    messages, Esc back to the text.
    """

    def __init__(
        self,
        theme: Theme,
        browser: TranscriptBrowser,
        page: TranscriptDocument,
        actions: MessageActions,
    ) -> None:
        super().__init__(browser.parentWidget())
        self._browser = browser
        self._page = page
        self._actions = actions
        self._item: AnswerItem | UserItem = UserItem("", "")
        self._buttons: dict[str, IconButton] = {}
        words = action_words()
        for name, icon in _ICONS.items():
            button = IconButton(theme, icon, words[name], self, size=14, name=f"{name}Message")
            button.clicked.connect(partial(self._do, name))
            button.installEventFilter(self)
            self._buttons[name] = button
        self.setObjectName("messageActions")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setLayout(row(*self._buttons.values(), spacing=2))
        self.hide()

    def follow(self, at: QPointF) -> None:
        """Stand beside the message at a place of the viewport, if there is one."""
        if self._has_focus:
            return
        shown = self._browser.row_at(at)
        if shown is None or not isinstance(shown.row, UserItem | AnswerItem):
            self.hide()
        elif self._box(shown).adjusted(-self._page.bubble_indent, 0, 0, 0).contains(at):
            self._stand_at(shown, shown.row)
        else:
            self.hide()

    def next_to(self, rows: Sequence[ShownRow], step: int) -> ShownRow | None:
        """Return the row after, or before, the one it stands at; at first the last in view."""
        keys = [shown.row.key for shown in rows]
        if self._has_focus and self._item.key in keys:
            place = keys.index(self._item.key) + step
            return rows[place] if 0 <= place < len(rows) else None
        end = self._browser.verticalScrollBar().value() + self._browser.viewport().height()
        seen = [shown for shown in rows if self._page.rect(shown).top() < end]
        return seen[-1] if seen else None

    def take_focus(self, shown: ShownRow) -> None:
        """Stand beside a message, with the focus on the first button."""
        if isinstance(shown.row, UserItem | AnswerItem):
            self._stand_at(shown, shown.row)
            self._shown_buttons[0].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the arrow keys before the buttons do, for which they are Tab."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._take_key(event) or super().eventFilter(watched, event)
        return super().eventFilter(watched, event)

    def _take_key(self, event: QKeyEvent) -> bool:
        key, buttons = Qt.Key(event.key()), self._shown_buttons
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(key)
        if step is not None:
            now = next((n for n, button in enumerate(buttons) if button.hasFocus()), 0)
            buttons[(now + step) % len(buttons)].setFocus(Qt.FocusReason.TabFocusReason)
        elif key in STEPS and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._browser.message_wanted.emit(STEPS[key])
        elif key == Qt.Key.Key_Escape:
            self._leave()
        else:
            return False
        return True

    @property
    def _has_focus(self) -> bool:
        focused = QApplication.focusWidget()
        return self.isVisible() and focused is not None and self.isAncestorOf(focused)

    @property
    def _shown_buttons(self) -> list[IconButton]:
        return [button for button in self._buttons.values() if not button.isHidden()]

    def _leave(self) -> None:
        if self._has_focus:
            self._browser.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.hide()

    def _do(self, name: str) -> None:
        self._leave()
        for action in self._actions.of(self._actions.newest(self._item)):
            if action.name == name:
                action.act()

    def _box(self, shown: ShownRow) -> QRectF:
        return self._page.rect(shown).translated(0, -self._browser.verticalScrollBar().value())

    def _stand_at(self, shown: ShownRow, item: AnswerItem | UserItem) -> None:
        if item is not self._item or not self.isVisible():
            self._item = item
            names = {action.name for action in self._actions.of(item)}
            said = with_marks(" ".join(item.text[:_SAID].split()))
            for name, button in self._buttons.items():
                button.setVisible(name in names)
                button.setAccessibleDescription(said)
        box, size = self._box(shown), self.sizeHint()
        at_left = self._page.is_mirrored
        if isinstance(item, AnswerItem):  # it takes the whole line: under its end
            left = box.left() if at_left else box.right() - size.width()
            y = min(box.bottom() - 4, self._browser.viewport().height() - size.height() - 4.0)
        else:
            left = box.right() + 6 if at_left else box.left() - size.width() - 6
            y = max(4.0, box.top() + 6)
        is_over = left < 0 or left + size.width() > self._browser.viewport().width()
        if is_over:  # no room beside a wide message: across its lower edge, not over its words
            left = box.right() - size.width() - 8 if at_left else box.left() + 8
            y = box.bottom() - _LOWER_EDGE
        if is_over != self.property("over"):
            self.setProperty("over", is_over)
            restyle(self)
        self.setGeometry(round(max(0.0, left)), round(y), size.width(), size.height())
        self.raise_()
        self.show()
