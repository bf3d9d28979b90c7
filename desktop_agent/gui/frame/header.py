"""The line over the conversation: what it is about, where, and what can be done with it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QSizePolicy,
    QWidget,
)
from shiboken6 import isValid

from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.text import native_keys, with_plural
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import ElidedLabel, IconButton, TextLabel, named, row

_PLACE_EMS = 6
_WORDS_EMS = 46


class Header(QFrame):
    """Title and place of the session; a double click on the title renames it."""

    renamed = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._is_read_only = False
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(self.tr("Session"))
        self._title = ElidedLabel("", role="title", parent=self, name="sessionTitle")
        self._title.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self._title.setMinimumWidth(40)
        self._title.installEventFilter(self)
        self._field = _TitleField(self)
        self._field.setObjectName("renameTitle")
        self._field.setAccessibleName(self.tr("Session name"))
        self._field.finished.connect(self._on_finished)
        self._field.hide()
        self._place = ElidedLabel("", Qt.TextElideMode.ElideMiddle, "subtle", self)
        self._place.setObjectName("sessionPlace")
        find = self.tr("Find in this session (Ctrl+F)")
        copy = self.tr("Copy the last answer (Ctrl+Shift+C)")
        self.find_button = self._button("find", "search", find)
        self.copy_button = self._button("copyAnswer", "copy", copy)
        self.changes_button = self._button("changesButton", "file-diff", self.tr("Changes"))
        self.changes_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.changes_button.hide()
        self._count = ""
        self.sidebar_button = self._button(
            "toggleSidebar", "panel-left", self.tr("Sidebar"), "Ctrl+B"
        )
        self.side_button = self._button(
            "toggleSide", "panel-right", self.tr("Tasks and subagents"), "Ctrl+J"
        )
        self.side_button.hide()
        self._lay_out()
        theme.changed.connect(self._resize)
        self._resize()

    def _button(self, name: str, icon: str, title: str, keys: str = "") -> IconButton:
        return IconButton(self._theme, icon, title, self, keys=keys, name=name)

    def _lay_out(self) -> None:
        theme = self._theme
        row(
            self._title,
            self._field,
            (self._place, 1),
            self.changes_button,
            self.find_button,
            self.copy_button,
            self.sidebar_button,
            self.side_button,
            spacing=theme.space("s"),
            edges=(theme.space("l") + 4, 0, theme.space("m"), 0),
            within=self,
        )

    def set_session(self, title: str, place: str) -> None:
        self._title.set_text(title)
        self._title.setVisible(bool(title))
        self._place.set_text(place)
        self._keep_place()
        for button in (self.find_button, self.copy_button):
            button.setVisible(bool(title))

    def set_changes(self, count: int, results: int = 0) -> None:
        """Show how many files the session has changed; none, no button, unless results wait."""
        button = self.changes_button
        button.setVisible(count > 0 or results > 0)
        self._count = f"{count:,}"
        self._name_changes()
        files = with_plural(self.tr("Changes: {n} file(s)").format(n=f"{count:,}"), count)
        if results:
            waiting = self.tr("{n} result(s) to review").format(n=f"{results:,}")
            files = f"{files}, {with_plural(waiting, results)}"
        button.setAccessibleName(files)
        button.setToolTip(f"{files} ({native_keys('Ctrl+Shift+D')})")

    def set_read_only(self, is_read_only: bool) -> None:
        """Rename nothing here, or again."""
        self._is_read_only = is_read_only
        if is_read_only and self._field.isVisible():
            self._on_finished("")

    def begin_rename(self) -> None:
        if not self._is_read_only and self._title.whole_text():
            self._title.hide()
            self._field.begin(self._title.whole_text())

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        is_double = event.type() == QEvent.Type.MouseButtonDblClick
        if watched is self._title and is_double and isinstance(event, QMouseEvent):
            self.begin_rename()
            return True
        return False

    def _on_finished(self, text: str) -> None:
        self._field.hide()
        self._title.show()
        if text and text != self._title.whole_text():
            self._title.set_text(text)
            self.renamed.emit(text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._name_changes()

    def _name_changes(self) -> None:
        """Say what the number is of, where there is room for it."""
        has_room = self.width() >= _WORDS_EMS * self._theme.text_px("ui")
        words = self.tr("Changes {n}") if has_room else "{n}"
        self.changes_button.setText("\u2009" + words.format(n=self._count))

    def _resize(self) -> None:
        self.setFixedHeight(self._theme.size("header"))
        self._keep_place()
        self._name_changes()

    def _keep_place(self) -> None:
        """Leave the folder enough to be known by; a long title is shortened for it."""
        least = _PLACE_EMS * self._theme.text_px("ui")
        self._place.setMinimumWidth(min(least, self._place.sizeHint().width()))


class _TitleField(Line):
    """Ends with the text, or with nothing on Esc; what had the focus gets it back."""

    finished = Signal(str)
    _before: QWidget | None = None

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setMaxLength(200)
        self.setMinimumWidth(240)
        self.editingFinished.connect(self._end)

    def begin(self, text: str) -> None:
        self.setText(text)
        self.selectAll()
        self._before = QApplication.focusWidget()
        self.show()
        self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.setText("")
            self._end()
        else:
            super().keyPressEvent(event)

    def _end(self) -> None:
        if not self.isVisible():
            return
        text, had_focus = self.text().strip(), self.hasFocus()
        before, self._before = self._before, None
        self.hide()
        self.finished.emit(text)
        if had_focus and before is not None and isValid(before) and before is not self:
            before.setFocus(Qt.FocusReason.ShortcutFocusReason)


class FindBar(QFrame):
    """Looks for words in the session that is shown."""

    searched = Signal(str, bool)
    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findBar")
        self.setAccessibleName(self.tr("Find"))
        self.field = named(SearchField(theme, self.tr("Find in this session"), self), "findText")
        self._count = TextLabel("", "subtle", self, name="findCount")
        previous = IconButton(theme, "chevron-up", self.tr("Previous"), self, keys="Shift+F3")
        following = IconButton(theme, "chevron-down", self.tr("Next"), self, keys="F3")
        close = IconButton(theme, "x", self.tr("Close"), self, keys="Esc")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.space("l") + 4, 6, theme.space("m"), 6)
        layout.addWidget(self.field, 1)
        for part in (self._count, previous, following, close):
            layout.addWidget(part)
        self.field.textChanged.connect(self._search_forward)
        self.field.returnPressed.connect(self._search_forward)
        self.field.left.connect(self.leave)
        previous.clicked.connect(lambda: self.search(backward=True))
        following.clicked.connect(self._search_forward)
        close.clicked.connect(self.leave)
        self.hide()

    def enter(self) -> None:
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def leave(self) -> None:
        """Hide the bar; the field keeps its words for the next time."""
        self.hide()
        self.closed.emit()

    def _search_forward(self) -> None:
        self.search()

    def search(self, *, backward: bool = False) -> None:
        self.searched.emit(self.field.text(), backward)

    def set_count(self, count: int) -> None:
        if not self.field.text():
            self._count.setText("")
        elif count:
            self._count.setText(self.tr("{n} found").format(n=count))
        else:
            self._count.setText(self.tr("Nothing found"))
