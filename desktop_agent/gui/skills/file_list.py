"""The files of a skill with their sizes; a click shows one. And reading one, with limits."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QListView,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from desktop_agent.core.skills import SkillFile
from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardFocus
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index, SnapshotListModel
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.rtl import code_text
from desktop_agent.gui.kit.safe_text import path_text, plain_tip, terminal_text
from desktop_agent.gui.kit.text import size_text
from desktop_agent.gui.kit.theme import Theme, mono_font
from desktop_agent.gui.kit.widgets import ElidedLabel, column
from desktop_agent.gui.transcript.cards.output_view import OutputView

translate = QCoreApplication.translate
_READ_LIMIT = 256 * 1024
_ROWS = 8


class SkillFileList(KeyboardFocus, QListView):
    """As high as its files, up to eight; then it scrolls.

    Signals:
        chosen(path): a click or Enter
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("skillFiles")
        self.setAccessibleName(self.tr("Files of this skill"))
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._rows: SnapshotListModel[SkillFile] = SnapshotListModel(
            lambda one: one.path,
            {
                int(Qt.ItemDataRole.DisplayRole): lambda one: one.path,
                int(Qt.ItemDataRole.AccessibleTextRole): _spoken,
                int(Qt.ItemDataRole.ToolTipRole): lambda one: plain_tip(one.path),
            },
            self,
        )
        self.setModel(self._rows)
        self.setItemDelegate(_FileDelegate(theme, self))
        self.clicked.connect(self._choose)
        theme.changed.connect(self._fit)
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    def show_files(self, files: Sequence[SkillFile]) -> None:
        self._rows.set_rows(tuple(files))
        self._fit()

    def mark(self, path: str) -> None:
        """Mark the file that is shown beside the list."""
        index = self._rows.index_of(path)
        if index.isValid():
            self.setCurrentIndex(index)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.currentIndex().isValid():
            self.setCurrentIndex(self._rows.index(0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
        if event.key() in keys and self.currentIndex().isValid():
            self._choose(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _choose(self, index: QModelIndex) -> None:
        self.chosen.emit(index.data(ROW_ROLE).path)

    def _fit(self) -> None:
        shown = min(_ROWS, max(1, self._rows.rowCount()))
        self.setFixedHeight(shown * self._theme.size("row") + 6)


class _FileDelegate(QStyledItemDelegate):
    """A path, which reads from left to right, and a size at the trailing end."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(80, self._theme.size("row"))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme, one = self._theme, index.data(ROW_ROLE)
        with RowPainter(theme, painter, option) as pen:
            pen.ground(1)
            inner = pen.rect.adjusted(8, 0, -8, 0)
            size = theme.icon_px(14)
            top = inner.center().y() - size // 2 + 1
            pen.icon(QRect(inner.left(), top, size, size), "file-text", "subtle")
            words, small = size_text(one.size), theme.font("small")
            wide = QFontMetrics(small).horizontalAdvance(words) + 4
            trailing = QRect(inner.right() - wide, inner.top(), wide + 1, inner.height())
            pen.text(trailing, words, pen.faint, small, side=Qt.AlignmentFlag.AlignRight)
            pen.text(
                inner.adjusted(size + 8, 0, -wide - 10, 0),
                path_text(one.path),
                "fg",
                mono_font(theme, "small"),
                elide=Qt.TextElideMode.ElideMiddle,
                is_path=True,
            )


class FilePreview(QWidget):
    """Some files, the text of one below them.

    Signals:
        wanted(directory, path): answered by `show_text`
    """

    wanted = Signal(str, str)

    def __init__(self, theme: Theme, about: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._shown = ("", "")
        self._files = SkillFileList(theme, self)
        self._files.chosen.connect(self._on_chosen)
        self._path = ElidedLabel("", Qt.TextElideMode.ElideMiddle, "section", self)
        self._text = OutputView(theme, self.tr("The file's text"), self)
        text = (_framed(self._text), 1)
        column(about, self._files, self._path, text, spacing=theme.space("s"), within=self)

    def show_files(self, files: Sequence[SkillFile], *, is_shown: bool = True) -> None:
        self._files.show_files(files)
        self._files.setVisible(is_shown)

    def clear(self, *, hides_files: bool) -> None:
        """Show no text until there is one."""
        self._files.setHidden(hides_files)
        self._path.set_text("")
        self._text.set_whole("")

    def look_at(self, directory: str, path: str) -> None:
        """Ask for the text of a file."""
        self._shown = (directory, path)
        self._files.mark(path)
        self.wanted.emit(directory, path)

    def show_text(self, directory: str, path: str, text: str) -> None:
        """Show a file's text, if it is still the one that is looked at."""
        if (directory, path) == self._shown:
            self._path.set_text(code_text(path))
            self._text.set_whole(terminal_text(text))

    def _on_chosen(self, path: str) -> None:
        self.look_at(self._shown[0], path)


def _framed(view: QWidget) -> QFrame:
    frame = QFrame()
    frame.setProperty("frame", "sunken")
    column(view, spacing=-1, edges=2, within=frame)
    return frame


def _spoken(one: SkillFile) -> str:
    return f"{one.path}, {size_text(one.size)}"


def read_shown(directory: str, path: str) -> str:
    """Return the text of a file below a directory, or a sentence that says why there is none.

    No link is followed out of the directory, and no pipe is waited for.
    """
    root = Path(directory).resolve()
    try:
        real = (root / path).resolve()
        if not real.is_relative_to(root):
            return translate("Skills", "This file lies outside the skill's folder.")
        if not stat.S_ISREG(real.stat().st_mode):
            return translate("Skills", "This is not a file that can be shown.")
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(real, flags), "rb") as file:
            content = file.read(_READ_LIMIT + 1)
    except (OSError, ValueError):
        return translate("Skills", "This file can't be read any more.")
    return _as_text(content)


def _as_text(content: bytes) -> str:
    shown = content[:_READ_LIMIT]
    if b"\0" in shown:
        return translate("Skills", "This file is not text.")
    text = shown.decode("utf-8-sig", "replace")
    if len(content) > _READ_LIMIT:
        more = translate("Skills", "Only the beginning of this file is shown.")
        text = f"{text}\n\n{more}"
    return text
