"""Small controls shared by all panels. Each takes the theme first and follows its changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, QTimer, SignalInstance
from PySide6.QtGui import (
    QFontMetrics,
    QHideEvent,
    QInputMethodEvent,
    QKeyEvent,
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
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.gui.kit.fields.input_methods import finish_input
from desktop_agent.gui.kit.popover import Popover as Popover
from desktop_agent.gui.kit.safe_text import clean, plain_tip
from desktop_agent.gui.kit.spinner import paint_spinner
from desktop_agent.gui.kit.text import native_keys
from desktop_agent.gui.kit.theme import Theme

# Keeps a button's text off its icon; the style sheet has no property for that.
_GAP = "\u2009"
Box = TypeVar("Box", bound=QBoxLayout)
Named = TypeVar("Named", bound=QObject)
Slot = Callable[..., object] | SignalInstance
# A number is a gap, None a stretch; in a pair the other is the stretch or the alignment.
Part = QWidget | QLayout | int | None | tuple[QWidget | QLayout | None, int]
Edges = int | tuple[int, int, int, int] | None


class EnterPresses:
    """A button that Enter presses, as Space does: Qt leaves that to the desktop."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        others = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if not is_enter or others != Qt.KeyboardModifier.NoModifier:
            super().keyPressEvent(event)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            return
        event.accept()
        if not event.isAutoRepeat():
            cast(QAbstractButton, self).click()

    def nextCheckState(self) -> None:
        """Have all that was typed be there before the click is told of."""
        finish_input()
        super().nextCheckState()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


class _Pictured:
    """Has an icon, drawn when it can first be seen: half of them are never looked at."""

    _theme: Theme
    _icon: str
    _token: str
    _size = 14
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
        button = cast(QAbstractButton, self)
        self._is_drawn = _draw_icon(button, self._theme, self._icon, self._token, self._size)


class IconButton(EnterPresses, _Pictured, QToolButton):
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
        keys: str = "",
        name: str = "",
        clicked: Slot | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self._token = "muted"
        self._size = size
        self.setAccessibleName(title)
        self.setToolTip(f"{title} ({native_keys(keys)})" if keys else title)
        self.setObjectName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMinimumSize(theme.size("hit_min"), theme.size("hit_min"))
        if clicked is not None:
            self.clicked.connect(clicked)
        theme.changed.connect(self._paint_icon)
        self._paint_icon()


class PushButton(EnterPresses, QPushButton):
    """Enter in a field beside it does not press it, and who clicks it goes on writing there."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setAutoDefault(False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)


class TextButton(_Pictured, PushButton):
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
        super().__init__(parent=parent)
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
        *,
        name: str = "",
    ) -> None:
        super().__init__(parent)
        self._whole = ""
        self.setObjectName(name)
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
        width = self.fontMetrics().horizontalAdvance(self._whole) + 2
        return QSize(width, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
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
        self._size = size
        theme.pulse.ticked.connect(self.update)
        theme.changed.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        side = self._theme.icon_px(self._size)
        self.setFixedSize(side, side)

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
    *parts: Part,
    spacing: int = 8,
    stretch: int = -1,
    edges: Edges = 0,
    within: QWidget | None = None,
) -> QHBoxLayout:
    """Return a horizontal layout, that of a widget if one is given.

    The part at the place `stretch` takes the room that is left; `edges` are left, top, right and
    bottom, or one for all, without them the style's; so is a spacing of -1.
    """
    layout = QHBoxLayout(within) if within else QHBoxLayout()
    return _filled(layout, parts, spacing, stretch, edges)


def column(
    *parts: Part,
    spacing: int = 0,
    stretch: int = -1,
    edges: Edges = 0,
    within: QWidget | None = None,
) -> QVBoxLayout:
    """Return a vertical layout, as `row` does a horizontal one."""
    layout = QVBoxLayout(within) if within else QVBoxLayout()
    return _filled(layout, parts, spacing, stretch, edges)


def _filled(layout: Box, parts: Iterable[Part], spacing: int, stretch: int, edges: Edges) -> Box:
    if edges is not None:
        layout.setContentsMargins(*((edges,) * 4 if isinstance(edges, int) else edges))
    layout.setSpacing(spacing)
    for part in parts:
        item, extra = part if isinstance(part, tuple) else (part, 0)
        share = 0 if isinstance(extra, Qt.AlignmentFlag) else extra
        if item is None:
            layout.addStretch(share or 1)
        elif isinstance(item, int):
            layout.addSpacing(item)
        elif isinstance(item, QLayout):
            layout.addLayout(item, share)
        else:
            layout.addWidget(item, share)
        if isinstance(extra, Qt.AlignmentFlag) and isinstance(item, QLayout | QWidget):
            layout.setAlignment(item, extra)
    if stretch >= 0:
        layout.setStretch(stretch, 1)
    return layout


def named(widget: Named, name: str, spoken: str = "") -> Named:
    """Return the object with its name and, if given, its accessible name."""
    widget.setObjectName(name)
    if spoken and isinstance(widget, QWidget):
        widget.setAccessibleName(spoken)
    return widget


def single_timer(parent: QObject, interval_ms: int, call: Callable[[], object]) -> QTimer:
    """Return a timer that calls once after each start."""
    timer = ticker(parent, interval_ms, call)
    timer.setSingleShot(True)
    return timer


def ticker(parent: QObject, interval_ms: int, call: Callable[[], object]) -> QTimer:
    """Return a timer that calls again and again once it is started."""
    timer = QTimer(parent)
    timer.setInterval(interval_ms)
    timer.timeout.connect(call)
    return timer


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


class UndoBar(QFrame):
    """`undo` is called by the button, and by the usual key wherever the focus is in `area`; in a
    field that key is the field's. The focus goes to `home` when the button that had it hides.
    """

    def __init__(
        self, theme: Theme, name: str, area: QWidget, home: QWidget, undo: Callable[[], None]
    ) -> None:
        super().__init__(area)
        self._home = home
        self._undo = undo
        self.setObjectName(name)
        self.setProperty("frame", "card")
        self._text = ElidedLabel("", role="muted", parent=self)
        button = GhostButton(theme, self.tr("Undo"), "undo-2", self, name=f"{name}Button")
        button.clicked.connect(self._act)
        keys = QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), area)
        keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        keys.activated.connect(self._act)
        self.setLayout(row(self._text, button, stretch=0, edges=(10, 2, 2, 2)))
        self.hide()

    def offer(self, text: str) -> None:
        """Say what can be undone."""
        self._text.set_text(text)
        self.show()

    def _act(self) -> None:
        if has_focus_in(self):
            self._home.setFocus(Qt.FocusReason.OtherFocusReason)
        self._undo()


class ReadOnlyText(QPlainTextEdit):
    """Plain text to be read, selected and copied."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        refuse_input_methods(self)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """Take nothing: Qt would put it in the place of what is selected, read-only or not."""
        event.ignore()


def refuse_input_methods(text: QPlainTextEdit | QTextEdit) -> None:
    """Have no input method offered for a text; the text must ignore their events, too."""
    text.setAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled, False)
