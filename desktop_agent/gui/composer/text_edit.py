"""The box a message is typed into: grows with its text, and knows what Enter means."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QResizeEvent,
    QTextCursor,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.gui.kit.fields.input_methods import PlainText, finish_input, unfinished
from desktop_agent.gui.kit.links import (
    accept_copy,
    dropped_folder,
    dropped_paths,
)
from desktop_agent.gui.kit.safe_text import typed_text, utf16_length, utf16_slice
from desktop_agent.gui.kit.theme import Theme

_MAX_LINES = 10
# Layout of one unbroken line takes seconds from 100,000 letters on: such a paste is attached.
LONG_TEXT = 20_000
_LONG_LINE = 4_000
_MENTION = re.compile(r"(?:^|[\s(\"'`])@([^\s@]*)$")
# A skill is asked for at the very beginning: elsewhere a slash is a slash.
_SLASH = re.compile(r"^/([^\s/]*)$")
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class ComposerText(PlainText):
    """Signals: `sent(bool)` true for the other way of sending, `recalled(int)` -1 for older,
    `files_given(list[Path])`, `image_given(QImage)`, `long_text_given(str)`,
    `mention_changed(str | None)` the path typed behind an `@`, `slash_changed(str | None)` the
    name typed behind a `/` at the beginning, `focus_changed(bool)`, `files_held(bool)` over it.
    """

    sent = Signal(bool)
    recalled = Signal(int)
    files_given = Signal(object)
    image_given = Signal(object)
    long_text_given = Signal(str)
    mention_changed = Signal(object)
    slash_changed = Signal(object)
    focus_changed = Signal(bool)
    files_held = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.send_with_ctrl_enter = False
        # Set while an earlier message is shown unchanged: Up and Down then go on through them.
        self.is_recalling = False
        # The open list of files takes its keys before the text does.
        self.key_filter: Callable[[QKeyEvent], bool] | None = None
        # What stands between an `@` and the cursor, or a `/` at the beginning; None without one.
        self.mention: str | None = None
        self.slash: str | None = None
        # A folder that was chosen behind an `@`: a space in its name does not end the mention.
        self._folder = ""
        self._placeholders: tuple[str, ...] = ()
        self.setObjectName("composerText")
        self.setAccessibleName(self.tr("Message"))
        self.setTabChangesFocus(True)
        self.setAcceptDrops(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(2)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self.textChanged.connect(self._look_for_mention)
        self.cursorPositionChanged.connect(self._look_for_mention)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def set_placeholders(self, texts: tuple[str, ...]) -> None:
        """Show the longest of these that fits on one line."""
        self._placeholders = texts
        self._show_placeholder()

    def replace_text(self, text: str) -> None:
        """Set the text with the cursor behind it; Undo brings the old one back."""
        cursor = self.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.setTextCursor(cursor)

    def load_text(self, text: str) -> None:
        """Begin with another text: Undo must not bring back that of another session."""
        if text != typed_text(self.document().toRawText()):
            self.setPlainText(text)
            self.moveCursor(QTextCursor.MoveOperation.End)
        self.document().clearUndoRedoStacks()

    def insert_word(self, text: str) -> None:
        """Insert at the cursor, with a space where it would touch the word before."""
        cursor = self.textCursor()
        before = _before(cursor)
        cursor.insertText((" " if before and not before[-1].isspace() else "") + text)
        self.setTextCursor(cursor)

    def replace_mention(self, text: str) -> None:
        self._replace_sign(self.mention, text)

    @property
    def unfinished(self) -> str:
        """What an input method shows in the text and has not given it yet."""
        return unfinished(self)

    def enter_folder(self, path: str) -> None:
        """Put this folder in place of what was typed behind the `@`, which goes on behind it."""
        self._folder = path
        self.replace_mention(f"@{path}")

    def replace_slash(self, text: str) -> None:
        """Put this in place of the `/` and what was typed behind it; nothing if it is a chip."""
        self._replace_sign(self.slash, text)

    def _replace_sign(self, typed: str | None, text: str) -> None:
        if typed is not None:
            cursor = self.textCursor()
            start = cursor.position() - utf16_length(typed) - 1
            cursor.setPosition(start, QTextCursor.MoveMode.KeepAnchor)
            cursor.insertText(text)
            self.setTextCursor(cursor)

    def event(self, event: QEvent) -> bool:
        """Give the list of files its keys before Tab moves the focus."""
        is_press = event.type() == QEvent.Type.KeyPress
        if is_press and isinstance(event, QKeyEvent) and self._has_taken(event):
            event.accept()
            return True
        return super().event(event)

    def _has_taken(self, event: QKeyEvent) -> bool:
        if self.unfinished and event.key() in (*_ENTER, Qt.Key.Key_Up, Qt.Key.Key_Down):
            # It is about what is composed, where an input method lets it through.
            if event.key() in _ENTER:
                finish_input()
            return True
        return self.key_filter is not None and self.key_filter(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER:
            self._press_enter(event)
        elif event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down) and self._can_recall(event):
            self.recalled.emit(-1 if event.key() == Qt.Key.Key_Up else 1)
        else:
            super().keyPressEvent(event)

    def _press_enter(self, event: QKeyEvent) -> None:
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
        plain = Qt.KeyboardModifier.NoModifier
        ways = {plain: False, control: True}
        if self.send_with_ctrl_enter:
            ways = {control: False, control | shift: True}
        if modifiers in ways:
            self.sent.emit(ways[modifiers])
        else:
            # A line separator, which Shift+Enter makes by itself, is no newline to a model.
            self.insertPlainText("\n")
            self.ensureCursorVisible()

    def _can_recall(self, event: QKeyEvent) -> bool:
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        is_plain = modifiers == Qt.KeyboardModifier.NoModifier
        return is_plain and (not self.toPlainText() or self.is_recalling)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit(False)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasText() or source.hasImage() or bool(dropped_paths(source))

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Text goes into the box; files, pictures and very long text become attachments."""
        files = dropped_paths(source)
        if files:
            self.files_given.emit(files)
        elif source.hasImage() and not source.hasText():
            image = source.imageData()
            self.image_given.emit(image if isinstance(image, QImage) else QImage(image))
        elif source.hasText():
            self.give_text(source.text())

    def give_text(self, text: str) -> None:
        """Put a text in at the cursor; a very long one becomes an attachment."""
        if _is_long(text):
            self.long_text_given.emit(text)
        else:
            self.insertPlainText(text)
            self.ensureCursorVisible()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Leave folders to the window, which opens them."""
        if dropped_folder(event.mimeData()):
            event.ignore()
        else:
            super().dragEnterEvent(event)
            self.files_held.emit(bool(dropped_paths(event.mimeData())))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        self.files_held.emit(False)

    def dropEvent(self, event: QDropEvent) -> None:
        super().dropEvent(event)
        self.files_held.emit(False)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Accept files anywhere, text where it can go."""
        if dropped_paths(event.mimeData()):
            accept_copy(event)
        else:
            super().dragMoveEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
        self._show_placeholder()

    def sizeHint(self) -> QSize:
        """As high as the text, from one line to ten."""
        return QSize(200, self._height())

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self._height())

    def _lines(self) -> int:
        # The layout of a plain text document measures its height in lines.
        return max(1, math.ceil(self.document().size().height()))

    def _height(self) -> int:
        line = QFontMetricsF(self.font()).lineSpacing()
        shown = min(self._lines(), _MAX_LINES)
        return math.ceil(shown * line + 2 * self.document().documentMargin()) + 2

    def _fit(self) -> None:
        policy = Qt.ScrollBarPolicy
        is_full = self._lines() > _MAX_LINES
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if is_full else policy.ScrollBarAlwaysOff
        )
        if self.height() != self._height():
            self.setFixedHeight(self._height())
            self.updateGeometry()

    def _show_placeholder(self) -> None:
        measure = QFontMetricsF(self.font()).horizontalAdvance
        room = self.maximumViewportSize().width() - 8
        fitting = [text for text in self._placeholders if measure(text) <= room]
        texts = fitting or self._placeholders[-1:]
        if texts and texts[0] != self.placeholderText():
            self.setPlaceholderText(texts[0])

    def _look_for_mention(self) -> None:
        cursor = self.textCursor()
        found = slash = None
        if not cursor.hasSelection():
            before = _before(cursor)[-400:]
            found = self._mention_in(before)
            named = _SLASH.match(before) if cursor.blockNumber() == 0 else None
            slash = named.group(1) if named else None
        if found != self.mention:
            self.mention = found
            self.mention_changed.emit(found)
        if slash != self.slash:
            self.slash = slash
            self.slash_changed.emit(slash)

    def _mention_in(self, before: str) -> str | None:
        """Return what was typed behind an `@`, up to the cursor; None without one."""
        _, at, rest = before.rpartition(f"@{self._folder}")
        if self._folder and at and not any(letter.isspace() or letter == "@" for letter in rest):
            return f"{self._folder}{rest}"
        match = _MENTION.search(before)
        return match.group(1) if match else None

    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.font("body"))
        self._fit()


def _before(cursor: QTextCursor) -> str:
    """Return what stands before the cursor in its block."""
    return utf16_slice(cursor.block().text(), 0, cursor.positionInBlock())


def _is_long(text: str) -> bool:
    return len(text) > LONG_TEXT or any(len(line) > _LONG_LINE for line in text.split("\n"))
