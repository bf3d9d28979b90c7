"""The window's parts in their places: sidebar, header, bars, pages, composer."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QSizePolicy,
    QStackedWidget,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.gui.composer import Composer
from desktop_agent.gui.header import FindBar, Header
from desktop_agent.gui.notices import ApprovalStrip, NoticeBar
from desktop_agent.gui.sidebar import Sidebar
from desktop_agent.gui.theme import Theme

_DRAWER_BELOW = 820
_COMPOSER_EXTRA = 48  # the composer stands this much outside the column of text


class WindowFrame(QWidget):
    """Below 820 pixels the sidebar is a drawer over the rest, closed by a click beside it."""

    sidebar_toggled = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._wants_sidebar = True
        self._is_drawer_open = False
        # The order in which they are made is the order of Tab.
        self.sidebar = Sidebar(theme, self)
        self.center = QFrame(self)
        self.center.setObjectName("center")
        self.header = Header(theme, self.center)
        self.find_bar = FindBar(theme, self.center)
        self.notices = NoticeBar(theme, self.center)
        self.stack = QStackedWidget(self.center)
        self.stack.setObjectName("pages")
        self.approvals = ApprovalStrip(theme, self.center)
        self.composer = Composer(theme, self.center)
        self._bottom = self._make_bottom()
        column = QVBoxLayout(self.center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for part in (self.header, self.find_bar, self.notices):
            column.addWidget(part)
        column.addWidget(self.stack, 1)
        column.addWidget(self._bottom)
        self.header.sidebar_button.clicked.connect(self.toggle_sidebar)

    @property
    def is_narrow(self) -> bool:
        """Whether the sidebar is a drawer now."""
        return self.width() < _DRAWER_BELOW

    def set_sidebar(self, is_wanted: bool) -> None:
        """Show or hide the sidebar where there is room for it."""
        self._wants_sidebar = is_wanted
        self._place()

    def toggle_sidebar(self) -> None:
        """Show or hide the sidebar, or the drawer."""
        if self.is_narrow:
            self._is_drawer_open = not self._is_drawer_open
        else:
            self._wants_sidebar = not self._wants_sidebar
            self.sidebar_toggled.emit(self._wants_sidebar)
        self._place()
        if self.is_narrow and self._is_drawer_open:
            self.sidebar.workspace.setFocus()

    def close_drawer(self) -> bool:
        """Close the drawer; tells whether it was open."""
        was_open = self.is_narrow and self._is_drawer_open
        self._is_drawer_open = False
        if was_open:
            self._place()
        return was_open

    def set_conversing(self, is_conversing: bool) -> None:
        """Show the composer, or not: the first-run page has none."""
        self._bottom.setVisible(is_conversing)

    def regions(self) -> tuple[QWidget, ...]:
        """Return the parts that F6 goes through."""
        page = self.stack.currentWidget() or self.stack
        parts = (self.sidebar, self.header, page, self._bottom)
        return tuple(part for part in parts if part.isVisible())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the parts their places."""
        super().resizeEvent(event)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Close the drawer on a press beside it; installed only while it is open."""
        if event.type() == QEvent.Type.MouseButtonPress:
            is_beside = isinstance(watched, QWidget) and self.center.isAncestorOf(watched)
            if is_beside and not self.header.sidebar_button.underMouse():
                self.close_drawer()
        return False

    def _place(self) -> None:
        width = self.sidebar.width()
        is_shown = self._is_drawer_open if self.is_narrow else self._wants_sidebar
        whole = self.rect()
        side = QRect(0, 0, width, whole.height())
        rest = whole.adjusted(width if is_shown and not self.is_narrow else 0, 0, 0, 0)
        self.sidebar.setGeometry(QStyle.visualRect(self.layoutDirection(), whole, side))
        self.center.setGeometry(QStyle.visualRect(self.layoutDirection(), whole, rest))
        self.sidebar.setVisible(is_shown)
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
            if is_shown and self.is_narrow:
                app.installEventFilter(self)
        self.sidebar.raise_()

    def _make_bottom(self) -> QWidget:
        bottom = QWidget(self.center)
        bottom.setObjectName("bottom")
        bottom.setAccessibleName(self.tr("Message"))
        self.approvals.setMaximumWidth(self._theme.size("transcript_max") + _COMPOSER_EXTRA)
        wide = self.approvals.sizePolicy()
        wide.setHorizontalPolicy(QSizePolicy.Policy.Expanding)
        self.approvals.setSizePolicy(wide)
        edge = self._theme.space("xl")
        strip = QHBoxLayout()
        strip.setContentsMargins(edge, 0, edge, self._theme.space("s"))
        strip.addWidget(self.approvals)
        outer = QVBoxLayout(bottom)
        outer.setContentsMargins(0, self._theme.space("xs"), 0, 0)
        outer.setSpacing(0)
        outer.addLayout(strip)
        outer.addWidget(self.composer)
        return bottom
