"""What all cards are made of: a rounded panel, a header of one line, and what cards ask for."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QSizePolicy,
    QStyle,
    QWidget,
)

from desktop_agent.core.ids import AgentId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.gui.kit.accessible import ReadAsDocument, Unfolds
from desktop_agent.gui.kit.background import Background
from desktop_agent.gui.kit.fields.input_methods import EnterLine
from desktop_agent.gui.kit.lists.keyboard_focus import PaintsRing
from desktop_agent.gui.kit.spinner import paint_spinner
from desktop_agent.gui.kit.text import LONGEST_LINE
from desktop_agent.gui.kit.theme import Theme, mono_font
from desktop_agent.gui.kit.widgets import EnterPresses, column
from desktop_agent.gui.transcript.state.transcript import Transcript

# A full red edge is louder than the sentence inside it.
_SOFT_EDGE = 110
_STATE_ICONS = {
    "queued": ("circle", "subtle"),
    "waiting": ("circle", "warn"),
    "ok": ("circle-check", "ok"),
    "failed": ("circle-x", "err"),
    "denied": ("circle-slash", "muted"),
    "stopped": ("circle-stop", "muted"),
    "unknown": ("circle-question-mark", "warn"),
}


class Clocks(msgspec.Struct):
    """`wall` is the time of day, `steady` only ever goes on; tests set their own."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic


class CardHost(ReadAsDocument, QWidget):
    """What the cards stand in. Its signals are what the user asks for on any of them."""

    decided = Signal(str, object)  # request, decision
    answered = Signal(str, str)  # question, text
    form_answered = Signal(str, str, object)  # question, how it is told, FormAnswer
    resume_requested = Signal()
    compose_requested = Signal()  # the focus belongs into the message box
    fault_action = Signal(str)
    open_path_requested = Signal(str)
    text_requested = Signal(str, str)  # title, text: shown in a window of its own
    activity_toggled = Signal(str)  # the row of an activity opens or closes: `unfolded` says which
    picture_requested = Signal(object, int)  # pictures, which of them: it is shown large
    table_requested = Signal(str)  # path of a file, which is shown as a table
    more_requested = Signal()  # what is before the first row
    job_requested = Signal(str)  # the window of a command in the background
    row_wanted = Signal(str)  # key: scroll to it
    undo_requested = Signal(object)  # UndoScope
    redo_requested = Signal(object, bool)  # UndoScope, whether it was looked at when it was undone
    changes_requested = Signal()  # the page of all changes
    edit_requested = Signal(str, object)  # text and skills for the composer
    branch_requested = Signal(object)  # BranchDraft: the next message stands in its place
    remember_requested = Signal(str)  # what is to be remembered, as far as it is known
    again_requested = Signal(str)  # id of a message that is to be said again, on a branch
    branch_chosen = Signal(str, int)  # key of its row, the branch to switch to
    command_requested = Signal(str, str, str)  # agent ("" for the one shown), command, text

    def __init__(self, theme: Theme, clocks: Clocks, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.clocks = clocks
        # By the key of their row, which cards the user opened or closed: it outlives them.
        self.unfolded: dict[str, bool] = {}
        self.background = Background(self)
        self.last_event_at = 0.0
        # Another window has the session for writing: nothing is answered or begun here.
        self.is_read_only = False
        self.session: SessionInfo | None = None
        self.transcript = Transcript(AgentId(""))

    @property
    def ground(self) -> QWidget:
        """The parent of the cards."""
        return self

    @property
    def has_branches(self) -> bool:
        """Whether branches begin here: in a main agent's transcript, as subagents have one."""
        if self.is_read_only:
            return False
        return self.session is not None and self.session.main_agent == self.transcript.agent_id

    def name_of(self, agent_id: str) -> str:
        """Return the name of an agent of the session; empty when it is not known."""
        return self.transcript.agent_names.get(AgentId(agent_id), "")


class Card(QWidget):
    """A rounded panel over its place in the text. `resized`: it wants another height."""

    resized = Signal()

    def __init__(
        self,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        ground: str = "raised",
        edge: str = "line",
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._ground = ground
        self._edge = edge
        self.body = column(within=self)

    def set_ground(self, ground: str, edge: str) -> None:
        """Change the colours; an empty ground is none."""
        self._ground, self._edge = ground, edge
        self.update()

    def height_for(self, width: int) -> int:
        layout = self.body
        if layout.hasHeightForWidth():
            return layout.totalHeightForWidth(width)
        return layout.totalSizeHint().height()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keep Enter from the text underneath, where it would follow a link."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()
        else:
            super().keyPressEvent(event)

    def take_focus(self) -> bool:
        """Take the focus where the user goes on; False when nothing is done here any more."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return self.isEnabled()

    def switch_off(self) -> None:
        """Take no more input. The focus goes nowhere: Qt would give it to a link in the text."""
        focused = QApplication.focusWidget()
        if focused is not None and (focused is self or self.isAncestorOf(focused)):
            focused.clearFocus()
        self.setEnabled(False)

    def switch_on(self) -> None:
        """Take input again: what was asked for was refused."""
        self.setEnabled(True)

    def tick(self, now: float) -> None:
        """Show the time that has passed; called while something runs."""

    def spin(self) -> None:
        """Turn the spinner, if there is one."""

    @property
    def is_live(self) -> bool:
        """Whether the card has to be ticked."""
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._ground:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_strong = self._theme.is_high_contrast or self.hasFocus()
        width = 2 if is_strong else 1
        painter.setPen(Qt.PenStyle.NoPen)
        if self._edge:
            color = QColor(self._theme.color(self._edge))
            if self._edge == "err" and not self._theme.is_high_contrast:
                color.setAlpha(_SOFT_EDGE)
            painter.setPen(QPen(color, width))
        painter.setBrush(self._theme.color(self._ground))
        box = QRectF(self.rect()).adjusted(width / 2, width / 2, -width / 2, -width / 2)
        radius = self._theme.radius("card")
        painter.drawRoundedRect(box, radius, radius)
        painter.end()


class HeaderCard(Card):
    """A card that is one line, or begins with one; a flat one has neither ground nor edge."""

    def __init__(self, theme: Theme, parent: QWidget | None, *, flat: bool = False) -> None:
        ground, edge = ("", "") if flat else ("raised", "line")
        super().__init__(theme, parent, ground=ground, edge=edge)
        self.header = CardHeader(theme, self, flat=flat)
        self.body.addWidget(self.header)

    def set_name(self, name: str) -> None:
        self.setAccessibleName(name)
        self.header.setAccessibleName(name)

    def height_for(self, width: int) -> int:
        return self.header.minimumHeight()

    def spin(self) -> None:
        self.header.update()


class AskCard(Card):
    """Waits for the user: Tab stays in it. `left`: by Tab past its last control, or by Esc."""

    left = Signal()

    def announce(self) -> None:
        """Tell a screen reader at once; the focus stays where it is."""
        event = QAccessibleAnnouncementEvent(self, self.accessibleName())
        event.setPoliteness(QAccessible.AnnouncementPoliteness.Assertive)
        QAccessible.updateAccessibility(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc leaves the card: from here, the window's would stop the agent."""
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, is_next: bool) -> bool:
        """Go through the card's own controls; the text underneath has its links in between."""
        stops = [
            one
            for one in (self, *self.findChildren(QWidget))
            if one.isVisible() and one.isEnabled() and one.focusPolicy() & Qt.FocusPolicy.TabFocus
        ]
        now = QApplication.focusWidget()
        place = (stops.index(now) if now in stops else -1) + (1 if is_next else -1)
        if 0 <= place < len(stops):
            reason = Qt.FocusReason.TabFocusReason if is_next else Qt.FocusReason.BacktabFocusReason
            stops[place].setFocus(reason)
            return True
        if is_next:
            self.left.emit()
            return True
        return super().focusNextPrevChild(is_next)


class AnswerLine(EnterLine):
    """A line to type into."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMaxLength(LONGEST_LINE)


class CardHeader(Unfolds, PaintsRing, EnterPresses, QAbstractButton):
    """One line: icon, verb, target, what came of it, a state, and a chevron if it unfolds.

    A button, not a box to tick: whether it is open is a state of its own.

    Signals:
        unfolded(bool): it was opened or closed
    """

    unfolded = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, flat: bool = False) -> None:
        super().__init__(parent)
        self._theme = theme
        self._flat = flat
        self.icon_name = ""
        self.verb = ""
        self.target = ""
        self.meta = ""
        self.meta_token = "subtle"
        self.counts: tuple[int, int] | None = None
        self.state = ""
        self.can_unfold = True
        self.is_open = False
        # Room at the end, before the state, for a button that stands over it.
        self.reserved = 0
        # A sentence, not a path or a command.
        self.is_prose = False
        # The chevron stands at the leading end, in place of an icon.
        self.is_leading = False
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(line_height(theme) if flat else header_height(theme))

    def set_open(self, is_open: bool) -> None:
        if is_open != self.is_open:
            self.is_open = is_open
            self.tell_open()
            self.update()
            self.unfolded.emit(is_open)

    def nextCheckState(self) -> None:
        """Open or close: Qt calls this for each click, also of a button that holds no tick."""
        if self.can_unfold:
            self.set_open(not self.is_open)

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint everything by hand: a widget per word would make long sessions slow to open."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_ground(painter)
        right = self._paint_end(painter)
        left = self._paint_title(painter, right)
        self._paint_middle(painter, left, right)
        painter.end()

    def _paint_ground(self, painter: QPainter) -> None:
        box = QRectF(self.rect()).adjusted(2.5, 2.5, -2.5, -2.5)
        radius = self._theme.radius("card") - 3
        if self.underMouse() and self.can_unfold:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("hover"))
            painter.drawRoundedRect(box, radius, radius)
        if self.is_ringed:
            painter.setPen(QPen(self._theme.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(-1, -1, 1, 1), radius + 1, radius + 1)

    def _paint_title(self, painter: QPainter, right: int) -> int:
        """Paint icon and verb; return where they end, counted from the leading edge.

        A verb may be a whole sentence: what follows it keeps two fifths of the room at most.
        """
        at = 4 if self._flat else self._theme.space("m")
        size = self._theme.icon_px(16)
        self._icon(painter, self._chevron if self.is_leading else self.icon_name, "muted", at, size)
        at += size + self._theme.space("s")
        weight = "regular" if self.is_leading else "medium"
        font = self._theme.font("ui", weight if self._flat else "semibold")
        token = "muted" if self._flat and not (self.is_leading and self.is_open) else "fg"
        metrics, room = QFontMetrics(font), max(0, right - at)
        behind = metrics.horizontalAdvance(f"  {self.target}  {self.meta}".rstrip())
        room -= min(behind, room * 2 // 5)
        shown = self.verb
        if metrics.horizontalAdvance(shown) > room:
            shown = metrics.elidedText(shown, Qt.TextElideMode.ElideRight, room)
        return at + self._text(painter, shown, font, token, at, right - at)

    def _paint_end(self, painter: QPainter) -> int:
        """Paint chevron, state and counts; return where they begin."""
        at = self.width() - (4 if self._flat else self._theme.space("m"))
        if self.can_unfold and not self.is_leading:
            small = self._theme.icon_px(14)
            at -= small
            self._icon(painter, self._chevron, "subtle", at, small)
            at -= self._theme.space("s")
        if self.state:
            size = self._theme.icon_px(16)
            at -= size
            self._paint_state(painter, at, size)
            at -= self._theme.space("s")
        return self._paint_counts(painter, at - self.reserved)

    @property
    def _chevron(self) -> str:
        if self.is_open:
            return "chevron-down"
        is_mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        return "chevron-left" if is_mirrored else "chevron-right"

    def _paint_counts(self, painter: QPainter, at: int) -> int:
        if self.counts is None:
            return at
        font = self._theme.font("small", "medium")  # in which a minus is longer than a hyphen
        for sign, count, token in (("−", self.counts[1], "delFg"), ("+", self.counts[0], "addFg")):
            text = f"{sign}{count:,}"
            at -= QFontMetrics(font).horizontalAdvance(text)
            self._text(painter, text, font, token, at, 200)
            at -= self._theme.space("s")
        return at

    def _paint_middle(self, painter: QPainter, left: int, right: int) -> None:
        gap = self._theme.space("s") + 2
        theme = self._theme
        font = theme.font("small") if self.meta_token == "err" else mono_font(theme, "small")
        is_prose = self._flat or self.is_prose
        target_font = theme.font("small") if is_prose else mono_font(theme, "small")
        room = max(0, right - left - gap)
        # An error says more than the end of a path; both keep at least a part of the room.
        wanted = QFontMetrics(font).horizontalAdvance(self.meta) if self.meta else 0
        target_width = QFontMetrics(target_font).horizontalAdvance(self.target) + gap
        meta_width = min(wanted, max(room - target_width, int(room * 0.5)))
        if meta_width > 0:
            shown = QFontMetrics(font).elidedText(
                self.meta, Qt.TextElideMode.ElideRight, meta_width + 2
            )
            width = QFontMetrics(font).horizontalAdvance(shown)
            right -= width
            self._text(painter, shown, font, self.meta_token, right, width + 2)
            right -= gap
        room = max(0, right - left - gap)
        if self.target and room > 20:
            elide = Qt.TextElideMode.ElideRight if self.is_prose else Qt.TextElideMode.ElideMiddle
            shown = QFontMetrics(target_font).elidedText(self.target, elide, room)
            self._text(painter, shown, target_font, "muted", left + gap, room)

    def _paint_state(self, painter: QPainter, at: int, size: int) -> None:
        if self.state != "running":
            self._icon(painter, *_STATE_ICONS[self.state], at, size)
            return
        theme = self._theme
        place = QRectF(self._place(at, size)).adjusted(1, 1, -1, -1)
        paint_spinner(painter, place, theme.pulse, theme.color("accent"), theme.color("line2"))

    def _place(self, at: int, size: int) -> QRect:
        box = QRect(at, (self.height() - size) // 2, size, size)
        return QStyle.visualRect(self.layoutDirection(), self.rect(), box)

    def _icon(self, painter: QPainter, name: str, token: str, at: int, size: int) -> None:
        if name:
            pixmap = self._theme.pixmap(name, token, size, self.devicePixelRatioF())
            painter.drawPixmap(self._place(at, size), pixmap)

    def _text(
        self, painter: QPainter, text: str, font: QFont, token: str, at: int, room: int
    ) -> int:
        """Draw a line of text from a distance to the leading edge; return its width."""
        painter.setFont(font)
        painter.setPen(QColor(self._theme.color(token)))
        width = min(room, painter.fontMetrics().horizontalAdvance(text) + 1)
        box = QRect(at, 0, max(0, width), self.height())
        place = QStyle.visualRect(self.layoutDirection(), self.rect(), box)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(place, int(flags) | Qt.TextFlag.TextForceLeftToRight.value, text)
        return width


def header_height(theme: Theme) -> int:
    """Return the height of a collapsed card."""
    return theme.size("row") + theme.space("xs")


def line_height(theme: Theme) -> int:
    """Return the height of a card that is one quiet line."""
    return theme.size("row") - theme.space("xs")
