"""The window's parts in their places: sidebar, header, bars, pages, composer."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.composer.frame import composer_width
from desktop_agent.gui.frame.focus import FocusGuard, first_focusable
from desktop_agent.gui.frame.header import FindBar, Header
from desktop_agent.gui.frame.notice_bar import ApprovalStrip, NoticeBar
from desktop_agent.gui.frame.sidebar import Sidebar
from desktop_agent.gui.kit.rtl import placed
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import column, has_focus_in, named

_PLACING = frozenset(
    {
        QEvent.Type.Resize,
        QEvent.Type.Move,
        QEvent.Type.Show,
        QEvent.Type.Hide,
        QEvent.Type.LayoutRequest,
    }
)


class SidePart(QFrame):
    """What stands at the side: the parts in it that F6 goes through."""

    def regions(self) -> tuple[QWidget, ...]:
        """Return them from the top."""
        return (self,)


class PageStack(QStackedWidget):
    """Needs the room of the page that is shown: what is hidden takes none from the composer."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.currentChanged.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        page = self.currentWidget()
        return super().sizeHint() if page is None else page.sizeHint()

    def minimumSizeHint(self) -> QSize:
        page = self.currentWidget()
        return super().minimumSizeHint() if page is None else page.minimumSizeHint()


class WindowFrame(QWidget):
    """Below 820 pixels the sidebar is a drawer over the rest, closed by a click beside it.

    So is the side panel below 1,100 pixels; it is there only when it has something
    to show. Larger text needs more.

    Signals:
        toggled(part, is_wanted): the user showed or hid the `sidebar`, or the `side` panel
    """

    toggled = Signal(str, bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._wants_sidebar = True
        self._wants_side = True
        self._is_drawer_open = False
        self.has_side_open = False
        self._has_side = False
        self._is_full = False
        self.is_conversing = True
        self._side: SidePart | None = None
        self.sidebar = Sidebar(theme, self)
        self.center = named(QFrame(self), "center")
        self.header = Header(theme, self.center)
        self.find_bar = FindBar(theme, self.center)
        self.notices = NoticeBar(theme, self.center)
        self.stack = named(PageStack(self.center), "pages")
        self.approvals = ApprovalStrip(theme, self.center)
        self.composer = Composer(theme, self.center)
        self._net = FocusGuard(self.center, self.stack, self.composer)
        self._bottom = self._make_bottom()
        self._column = column = QVBoxLayout(self.center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._bars: list[QWidget] = [self.find_bar, self.notices]
        for part in (self.header, self.find_bar):
            column.addWidget(part)
        column.addWidget(self.stack, 1)
        # A notice lies over the page: nothing moves as it comes and goes.
        for part in (self.stack, self.notices):
            part.installEventFilter(self)
        column.addWidget(self._bottom)
        self.header.sidebar_button.clicked.connect(self.toggle_sidebar)
        self.header.side_button.clicked.connect(self.toggle_side)
        theme.changed.connect(self._place)

    @property
    def is_narrow(self) -> bool:
        return self.width() < self.sidebar.width() + self._theme.size("page_min")

    def set_sidebar(self, is_wanted: bool) -> None:
        self._wants_sidebar = is_wanted
        self._place()

    def toggle_sidebar(self) -> None:
        if self.is_narrow:
            self._is_drawer_open = not self._is_drawer_open
        else:
            self._wants_sidebar = not self._wants_sidebar
            self.toggled.emit("sidebar", self._wants_sidebar)
        self._place()
        if self.is_narrow and self._is_drawer_open:
            self.sidebar.workspace.setFocus()

    @property
    def has_side_drawer(self) -> bool:
        # Where both panels would leave the conversation too little for its text.
        beside = self.sidebar.width() + self._theme.size("right")
        return self.width() < beside + self._theme.size("center_min")

    def add_bar(self, bar: QWidget) -> None:
        """Take a bar that stands right below the header."""
        self._column.insertWidget(1, bar)
        self._bars.insert(0, bar)

    def add_side(self, panel: SidePart) -> None:
        """Take the side panel; once."""
        self._side = panel
        panel.setParent(self)

    def set_side(self, *, has_content: bool, is_wanted: bool | None = None) -> None:
        self._has_side = has_content and self._side is not None
        self._wants_side = self._wants_side if is_wanted is None else is_wanted
        self.header.side_button.setVisible(self._has_side)
        self._place()

    def toggle_side(self) -> None:
        if self.has_side_drawer:
            self.has_side_open = not self.has_side_open
        else:
            self._wants_side = not self._wants_side
            self.toggled.emit("side", self._wants_side)
        self._place()
        if self.has_side_drawer and self._side is not None and self._side.isVisible():
            self._focus_side(self._side)  # What had the focus may be covered now.

    def _focus_side(self, side: SidePart) -> None:
        found = (first_focusable(one) for one in side.regions() if one.isVisible())
        target = next((one for one in found if one is not None), None)
        if target is not None:
            target.setFocus(Qt.FocusReason.TabFocusReason)

    def close_drawer(self) -> bool:
        """Close the drawers; tells whether one was open."""
        was_open = self.is_narrow and self._is_drawer_open
        was_open |= self.has_side_drawer and self.has_side_open
        self._is_drawer_open = self.has_side_open = False
        if was_open:
            self._place()
        return was_open

    def set_conversing(self, is_conversing: bool) -> None:
        self.is_conversing = is_conversing
        self._bottom.setVisible(is_conversing and not self._is_full)

    def set_full(self, is_full: bool) -> None:
        """Give a page that is no conversation the room of header, composer and side panel."""
        if is_full == self._is_full:
            return
        self._is_full = is_full
        if is_full:
            self.find_bar.hide()
        self._place_notices()
        self.header.setVisible(not is_full)
        self.set_conversing(self.is_conversing)
        self._place()

    def regions(self) -> tuple[QWidget, ...]:
        """Return the parts that F6 goes through."""
        page = self.stack.currentWidget() or self.stack
        side = self._side.regions() if self._side is not None else ()
        parts = (self.sidebar, self.header, *self._bars, page, self._bottom, *side)
        return tuple(part for part in parts if part.isVisible())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the notice in its place, and close the drawer on a press beside it.

        Of the whole app's events this hears only while a drawer is open.
        """
        if watched in (self.stack, self.notices) and event.type() in _PLACING:
            self._place_notices()
        if event.type() == QEvent.Type.MouseButtonPress:
            is_beside = isinstance(watched, QWidget) and self.center.isAncestorOf(watched)
            buttons = (self.header.sidebar_button, self.header.side_button)
            if is_beside and not any(button.underMouse() for button in buttons):
                self.close_drawer()
        return False

    def _place_notices(self) -> None:
        """Lay the notice over the top of a conversation, or below another page and its buttons."""
        box, notices = self.stack.geometry(), self.notices
        high = max(notices.heightForWidth(box.width()), notices.minimumSizeHint().height())
        below = high if self._is_full and not notices.isHidden() else 0
        self._column.setContentsMargins(0, 0, 0, below)
        top = self.center.height() - high if below else box.top()
        notices.setGeometry(box.left(), top, box.width(), high)
        notices.raise_()

    def _place(self) -> None:
        beside = [one for one in (self.sidebar, self._side) if one is not None]
        focused = next((one for one in beside if has_focus_in(one)), None)
        self._place_parts()
        # Qt would give the focus to the next button, wherever that is.
        if focused is not None and focused.isHidden() and self.is_conversing and not self._is_full:
            self.composer.focus_text()

    def _place_parts(self) -> None:
        width = self.sidebar.width()
        is_shown = self._is_drawer_open if self.is_narrow else self._wants_sidebar
        whole = self.rect()
        left = width if is_shown and not self.is_narrow else 0
        right = self._place_side(whole)
        side = QRect(0, 0, width, whole.height())
        rest = whole.adjusted(left, 0, -right, 0)
        self.sidebar.setGeometry(placed(self.layoutDirection(), whole, side))
        self.center.setGeometry(placed(self.layoutDirection(), whole, rest))
        self.sidebar.setVisible(is_shown)
        is_over = (is_shown and self.is_narrow) or (self.has_side_drawer and self.has_side_open)
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
            if is_over:
                app.installEventFilter(self)
        self.sidebar.raise_()

    def _place_side(self, whole: QRect) -> int:
        """Give the side panel its place; return the room it takes from the middle."""
        if self._side is None:
            return 0
        is_wanted = self.has_side_open if self.has_side_drawer else self._wants_side
        is_shown = self._has_side and is_wanted and not self._is_full
        width = min(self._theme.size("right"), whole.width())
        box = QRect(whole.width() - width, 0, width, whole.height())
        self._side.setGeometry(placed(self.layoutDirection(), whole, box))
        self._side.setVisible(is_shown)
        self._side.raise_()
        return width if is_shown and not self.has_side_drawer else 0

    def _fit_approvals(self) -> None:
        self.approvals.setMaximumWidth(composer_width(self._theme))

    def _make_bottom(self) -> QWidget:
        bottom = named(QWidget(self.center, accessibleName=self.tr("Message")), "bottom")
        self._theme.changed.connect(self._fit_approvals)
        self._fit_approvals()
        wide = self.approvals.sizePolicy()
        wide.setHorizontalPolicy(QSizePolicy.Policy.Expanding)
        self.approvals.setSizePolicy(wide)
        edge = self._theme.space("l")
        strip = QHBoxLayout()
        strip.setContentsMargins(edge, 0, edge, self._theme.space("s"))
        strip.setSpacing(0)
        strip.addWidget(self.approvals)
        strip.addSpacing(self._theme.size("scrollbar"))
        column(strip, self.composer, edges=(0, self._theme.space("xs"), 0, 0), within=bottom)
        return bottom
