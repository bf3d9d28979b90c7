"""Small controls shared by all panels. Each takes the theme first and follows its changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, SignalInstance
from PySide6.QtGui import (
    QFontMetrics,
    QHideEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.gui.kit.popover import Popover as Popover
from desktop_agent.gui.kit.safe_text import clean
from desktop_agent.gui.kit.spinner import paint_spinner
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.tooltips import plain_tip

# Keeps a button's text off its icon; the style sheet has no property for that.
_GAP = "\u2009"
Box = TypeVar("Box", bound=QBoxLayout)
Slot = Callable[..., object] | SignalInstance
# A number is a gap, None a stretch; in a pair the other is the stretch or the alignment.
Item = QWidget | QLayout | int | None | tuple[QWidget | QLayout | None, int]


class _Pictured:
    """Has an icon, drawn when it can first be seen: half of them are never looked at."""

    _icon: str
    _token: str
    _is_drawn: bool

    def set_icon(self, icon: str, token: str | None = None) -> None:
        self._icon = icon
        self._token = token or self._token
        self._paint_icon()

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what was put off."""
        if not self._is_drawn:
            self._paint_icon()
        # The widget's own, which comes after this class.
        super().showEvent(event)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]

    def _paint_icon(self) -> None:
        raise NotImplementedError


class IconButton(_Pictured, QToolButton):
    """A square button that is only an icon; its title is spoken, the tooltip adds its keys.

    `name` is its object name.
    """

    def __init__(
        self,
        theme: Theme,
        icon: str,
        title: str,
        parent: QWidget | None = None,
        *,
        size: int = 16,
        token: str = "muted",
        keys: str = "",
        name: str = "",
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self._token = token
        self._size = size
        self.setAccessibleName(title)
        self.setToolTip(f"{title} ({keys})" if keys else title)
        self.setObjectName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMinimumSize(theme.size("hit_min"), theme.size("hit_min"))
        theme.changed.connect(self._paint_icon)
        self._paint_icon()

    def _paint_icon(self) -> None:
        self._is_drawn = _draw_icon(self, self._theme, self._icon, self._token, self._size)


class TextButton(_Pictured, QPushButton):
    """A button with words and, if given, an icon. `name` is its object name."""

    _kind = "plain"

    def __init__(
        self,
        theme: Theme,
        text: str,
        icon: str = "",
        parent: QWidget | None = None,
        *,
        token: str = "",
        name: str = "",
        clicked: Slot | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self._token = token or ("onAccent" if self._kind == "primary" else "muted")
        self.setProperty("kind", self._kind)
        self.set_text(text)
        self.setObjectName(name)
        if clicked is not None:
            self.clicked.connect(clicked)
        self._is_drawn = not icon
        if icon:
            theme.changed.connect(self._paint_icon)
            self._paint_icon()

    def set_text(self, text: str) -> None:
        """Show other words; the accessible name follows."""
        self.setText((_GAP if self._icon else "") + text)
        self.setAccessibleName(text.replace("&", ""))

    def _paint_icon(self) -> None:
        self._is_drawn = _draw_icon(self, self._theme, self._icon, self._token, 14)


class PrimaryButton(TextButton):
    """The one filled button of a region."""

    _kind = "primary"


class GhostButton(TextButton):
    """A button without an edge, for what is rarely wanted."""

    _kind = "ghost"


class TextLabel(QLabel):
    """Plain text in a role of the style sheet: `muted`, `caption`, `section`, `h1` …"""

    def __init__(
        self,
        text: str = "",
        role: str = "",
        parent: QWidget | None = None,
        *,
        name: str = "",
        wraps: bool = False,
        copies: bool = False,
    ) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wraps)
        if role:
            self.setProperty("role", role)
        self.setObjectName(name)
        if copies:
            self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def set_role(self, role: str) -> None:
        self.setProperty("role", role)
        restyle(self)


class IconLabel(_Pictured, QLabel):
    """An icon that is no button."""

    def __init__(
        self,
        theme: Theme,
        icon: str,
        token: str = "muted",
        size: int = 16,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self._token = token
        self._size = size
        theme.changed.connect(self._paint_icon)
        self._paint_icon()

    def _paint_icon(self) -> None:
        size, ratio = self._theme.icon_px(self._size), self.devicePixelRatioF()
        self.setFixedSize(size, size)
        self._is_drawn = self.isVisible()
        if self._is_drawn:
            self.setPixmap(self._theme.pixmap(self._icon, self._token, size, ratio))


class ElidedLabel(QLabel):
    """One line that shortens itself; the whole text is the tooltip and is what is spoken."""

    def __init__(
        self,
        text: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        role: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._whole = ""
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if role:
            self.setProperty("role", role)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Show this text, shortened to the room there is."""
        self._whole = clean(text)
        self.setAccessibleName(self._whole)
        self._shorten()
        self.updateGeometry()

    def whole_text(self) -> str:
        return self._whole

    def sizeHint(self) -> QSize:
        """Ask for the room of the whole text, in the font it will have."""
        self.ensurePolished()
        hint = super().sizeHint()
        hint.setWidth(self.fontMetrics().horizontalAdvance(self._whole) + 2)
        return hint

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._shorten()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._shorten()

    def _shorten(self) -> None:
        room = max(0, self.contentsRect().width())
        shown = QFontMetrics(self.font()).elidedText(self._whole, self._mode, room)
        self.setText(shown)
        self.setToolTip(plain_tip(self._whole) if shown != self._whole else "")


class Chip(QLabel):
    """A short word on a coloured ground; `tone` is empty, `ok`, `warn`, `err` or `accent`."""

    def __init__(self, text: str = "", tone: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", "chip")
        self.setProperty("tone", tone)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)


class Separator(QFrame):
    """A hairline."""

    def __init__(self, parent: QWidget | None = None, *, vertical: bool = False) -> None:
        super().__init__(parent)
        self.setProperty("frame", "line")
        if vertical:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)


class Spinner(QWidget):
    """Turns while it can be seen."""

    def __init__(self, theme: Theme, size: int = 16, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFixedSize(size, size)
        theme.pulse.ticked.connect(self.update)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._theme.pulse.hold(self)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._theme.pulse.release(self)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme = self._theme
        paint_spinner(
            painter, QRectF(self.rect()), theme.pulse, theme.color("accent"), theme.color("line2")
        )
        painter.end()


def _draw_icon(button: QAbstractButton, theme: Theme, icon: str, token: str, size: int) -> bool:
    """Give a button its icon if it can be seen, else the room for it; tells which."""
    pixels, is_drawn = theme.icon_px(size), button.isVisible()
    button.setIconSize(QSize(pixels, pixels))
    button.setIcon(theme.icon(icon, token, pixels) if is_drawn else theme.blank(pixels))
    return is_drawn


def row(
    *items: Item,
    spacing: int = 8,
    margins: int | tuple[int, int, int, int] | None = 0,
    within: QWidget | None = None,
) -> QHBoxLayout:
    """Return a horizontal layout, that of a widget if it is given; without margins: the style's."""
    return _filled(QHBoxLayout(within) if within else QHBoxLayout(), items, spacing, margins)


def column(
    *items: Item,
    spacing: int = 8,
    margins: int | tuple[int, int, int, int] | None = 0,
    within: QWidget | None = None,
) -> QVBoxLayout:
    """Return a vertical layout; as `row`."""
    return _filled(QVBoxLayout(within) if within else QVBoxLayout(), items, spacing, margins)


def _filled(
    layout: Box, items: tuple[Item, ...], spacing: int, margins: int | tuple[int, ...] | None
) -> Box:
    if margins is not None:
        layout.setContentsMargins(*((margins,) * 4 if isinstance(margins, int) else margins))
    layout.setSpacing(spacing)
    for item in items:
        part, extra = item if isinstance(item, tuple) else (item, 0)
        is_aligned = isinstance(extra, Qt.AlignmentFlag)
        stretch = 0 if is_aligned else extra
        if part is None:
            layout.addStretch(stretch or 1)
        elif isinstance(part, int):
            layout.addSpacing(part)
        elif isinstance(part, QLayout):
            layout.addLayout(part, stretch)
        else:
            layout.addWidget(part, stretch)
        if is_aligned and isinstance(part, QLayout | QWidget):
            layout.setAlignment(part, extra)
    return layout


def undo_by_key(area: QWidget, undo: Callable[[], None]) -> None:
    """Let the usual key undo, wherever the focus is in the area; in a field it is the field's."""
    keys = QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), area)
    keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
    keys.activated.connect(undo)


def has_focus_in(widget: QWidget) -> bool:
    """Whether the focus is on the widget or on something in it."""
    focused = QApplication.focusWidget()
    return focused is not None and (focused is widget or widget.isAncestorOf(focused))


def restyle(widget: QWidget) -> None:
    """Apply the style sheet again after a property it selects by has changed."""
    if not widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
        return  # it is applied when the widget is first shown
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
    widget.update()
