"""The text of the transcript: paints the frames, copies, and never opens anything by itself."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QInputMethodEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCursor,
    QTextFrame,
    QTextOption,
)
from PySide6.QtWidgets import QAbstractSlider, QFrame, QScrollBar, QTextBrowser, QToolTip, QWidget

from desktop_agent.gui.kit.lists.keyboard_focus import by_keyboard
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import refuse_input_methods
from desktop_agent.gui.transcript.document.copy_selection import selection_text
from desktop_agent.gui.transcript.document.document import ShownRow, TranscriptDocument
from desktop_agent.gui.transcript.document.styles import (
    FRAME_KIND,
    FRAME_LANGUAGE,
    LIST_INDENT,
    QUOTE_INDENT,
)

_BUTTON = 28
_BUBBLE_RADIUS = 12
_CODE_RADIUS = 8
# A line may be painted a little outside of its place.
_MARGIN = 4
_FOCUS_LINE = 2
STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}


class _QuietBar(QScrollBar):
    """Always has its room, and shows while there is something to scroll."""

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.maximum() > self.minimum():
            super().paintEvent(event)


class TranscriptBrowser(QTextBrowser):
    """One document for all messages, on the colour named by `ground`.

    Signals: `menu_requested` (place in the viewport, place on the screen), `pointed` (place
    of the pointer), `resized`.
    """

    menu_requested = Signal(object, object)
    pointed = Signal(object)
    resized = Signal()
    message_wanted = Signal(int)  # the user's message before (-1), or after (1), the present one

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._page: TranscriptDocument | None = None
        self._copy_boxes: list[tuple[QRectF, QTextFrame]] = []
        self._hovered_frame: int = -1
        self.ground = "canvas"
        self._caret_row: ShownRow | None = None
        self._caret = QRect()
        self._is_by_keys = False
        self.setObjectName("transcript")
        self.setAccessibleName(self.tr("Conversation"))
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        # A click on a button of a card would give it the focus, as what the button stands in.
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # A bar that comes and goes would have everything laid out for another width each time.
        self.setVerticalScrollBar(_QuietBar(self))
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setCursorWidth(0)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        refuse_input_methods(self)
        document = self.document()
        document.setDocumentMargin(0)
        document.setIndentWidth(LIST_INDENT)
        option = document.defaultTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        document.setDefaultTextOption(option)
        self.viewport().setMouseTracking(True)
        # It paints all of itself: so what is scrolled is moved, not painted again.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.highlighted.connect(self._on_link_pointed)

    def set_page(self, page: TranscriptDocument) -> None:
        self._page = page

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Load nothing, ever: what a message names must not be opened by showing it."""
        return None

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy as Markdown and as plain text, without the marks of the layout."""
        plain, markdown = selection_text(self.textCursor())
        copied = QMimeData()
        copied.setText(plain)
        copied.setData("text/markdown", markdown.encode())
        return copied

    def row_at(self, point: QPointF) -> ShownRow | None:
        """Return the row at a place of the viewport."""
        if self._page is None:
            return None
        index = self._page.first_below(point.y() + self.verticalScrollBar().value())
        return self._page.rows[index] if index < len(self._page.rows) else None

    def code_at(self, point: QPointF) -> QTextFrame | None:
        """Return the code whose copy button is at the point."""
        return next((frame for box, frame in self._copy_boxes if box.contains(point)), None)

    # -- events --------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), self._theme.color(self.ground))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._copy_boxes = []
        for shown in self._visible_rows():
            self._paint_row(painter, shown)
        painter.end()
        super().paintEvent(event)
        self._paint_tasks(event.rect())
        self._paint_caret()
        if self._is_by_keys and self.hasFocus():
            painter = QPainter(self.viewport())
            painter.fillRect(self._focus_line(), self._theme.color("accent"))
            painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self.pointed.emit(event.position())
        frame = self.code_at(event.position())
        hovered = frame.firstPosition() if frame is not None else -1
        if hovered != self._hovered_frame:
            self._hovered_frame = hovered
            self.viewport().update()
        if frame is not None:
            self.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
            QToolTip.showText(event.globalPosition().toPoint(), self.tr("Copy code"), self)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """Take nothing: Qt would put it in the place of what is selected."""
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Scroll by the keys; with Shift they select, from where the user looks."""
        actions = QAbstractSlider.SliderAction
        action = {
            Qt.Key.Key_Up: actions.SliderSingleStepSub,
            Qt.Key.Key_Down: actions.SliderSingleStepAdd,
            Qt.Key.Key_PageUp: actions.SliderPageStepSub,
            Qt.Key.Key_PageDown: actions.SliderPageStepAdd,
            Qt.Key.Key_Space: actions.SliderPageStepAdd,
            Qt.Key.Key_Home: actions.SliderToMinimum,
            Qt.Key.Key_End: actions.SliderToMaximum,
        }.get(Qt.Key(event.key()))
        if event.modifiers() & Qt.KeyboardModifier.AltModifier and event.key() in STEPS:
            self.message_wanted.emit(STEPS[Qt.Key(event.key())])
            event.accept()
            return
        is_selecting = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if action is not None and not is_selecting:
            self.verticalScrollBar().triggerAction(action)
            event.accept()
            return
        if action is not None:
            self._bring_caret_here()
        super().keyPressEvent(event)

    def _bring_caret_here(self) -> None:
        self.setCursorWidth(2)
        is_seen = self.viewport().rect().intersects(self.cursorRect())
        if not is_seen and not self.textCursor().hasSelection():
            self.setTextCursor(self.cursorForPosition(self.viewport().rect().center()))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._mark_focus(is_by_keys=by_keyboard(event.reason(), before=self._is_by_keys))

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._mark_focus(is_by_keys=self._is_by_keys)

    def _mark_focus(self, *, is_by_keys: bool) -> None:
        """Show that keys scroll it: by a line that looks the same when the text is scrolled."""
        self._is_by_keys = is_by_keys
        self.viewport().update(self._focus_line())

    def _focus_line(self) -> QRect:
        return QRect(0, 0, _FOCUS_LINE, self.viewport().height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.setCursorWidth(0)
        self._mark_focus(is_by_keys=False)
        frame = self.code_at(event.position())
        if frame is not None and event.button() == Qt.MouseButton.LeftButton:
            self.copy_frame(frame)
            QToolTip.showText(event.globalPosition().toPoint(), self.tr("Copied"), self)
            event.accept()
            return
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        super().mousePressEvent(event)

    def copy_frame(self, frame: QTextFrame) -> None:
        cursor = QTextCursor(self.document())
        cursor.setPosition(frame.firstPosition())
        cursor.setPosition(frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
        QGuiApplication.clipboard().setText(selection_text(cursor)[0])

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Leave the menu to the view: Qt's own one knows nothing of messages."""
        self.menu_requested.emit(event.pos(), event.globalPos())
        event.accept()

    # -- painting ------------------------------------------------------------------------

    def _visible_rows(self) -> Iterator[ShownRow]:
        if self._page is None:
            return
        top = self.verticalScrollBar().value()
        bottom = top + self.viewport().height()
        rows = self._page.rows
        for index in range(self._page.first_below(top), len(rows)):
            if self._page.rect(rows[index]).top() > bottom:
                return
            yield rows[index]

    def _paint_row(self, painter: QPainter, shown: ShownRow) -> None:
        kind = shown.frame.frameFormat().property(FRAME_KIND)
        if kind in ("user", "note"):
            painter.setPen(
                self._edge("accent") if self._theme.is_high_contrast else Qt.PenStyle.NoPen
            )
            painter.setBrush(self._theme.color("accentSoft" if kind == "user" else "sunken"))
            box = self._on_screen(shown.frame)
            painter.drawRoundedRect(box, _BUBBLE_RADIUS, _BUBBLE_RADIUS)
        elif kind == "answer":
            self._paint_frames(painter, shown.frame)

    def _paint_frames(self, painter: QPainter, parent: QTextFrame) -> None:
        height = self.viewport().height()
        for frame in parent.childFrames():
            box = self._on_screen(frame)
            if box.bottom() < 0 or box.top() - self._code_header > height:
                continue
            kind = frame.frameFormat().property(FRAME_KIND)
            if kind == "code":
                self._paint_code(painter, frame, box)
            elif kind == "quote":
                is_mirrored = _is_mirrored(frame.firstCursorPosition().block())
                self._paint_quote(painter, box, is_mirrored=is_mirrored)
                self._paint_frames(painter, frame)
            elif kind == "rule":
                painter.setPen(self._edge("line2"))
                painter.drawLine(box.topLeft(), box.topRight())

    def _paint_code(self, painter: QPainter, frame: QTextFrame, box: QRectF) -> None:
        box = box.adjusted(0.5, 0.5 - self._code_header, -0.5, -0.5)
        painter.setPen(self._edge("line"))
        painter.setBrush(self._theme.color("sunken"))
        painter.drawRoundedRect(box, _CODE_RADIUS, _CODE_RADIUS)
        language = str(frame.frameFormat().property(FRAME_LANGUAGE) or "")
        painter.setFont(self._theme.font("caption", "medium"))
        painter.setPen(self._theme.color("subtle"))
        label = QRectF(box.left() + 12, box.top() + 6, box.width() - 60, self._code_header)
        painter.drawText(label, int(Qt.AlignmentFlag.AlignVCenter), language or self.tr("text"))
        button = QRectF(box.right() - _BUTTON - 4, box.top() + 5, _BUTTON, _BUTTON)
        if frame.firstPosition() == self._hovered_frame:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("active"))
            painter.drawRoundedRect(button, 6, 6)
        ratio = self.devicePixelRatioF()
        icon = self._theme.pixmap("copy", "muted", 14, ratio)
        painter.drawPixmap(button.center() - QPointF(7, 7), icon)
        self._copy_boxes.append((button, frame))

    def _paint_quote(self, painter: QPainter, box: QRectF, *, is_mirrored: bool) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("line2"))
        left = box.right() + QUOTE_INDENT - 3 if is_mirrored else box.left() - QUOTE_INDENT
        painter.drawRoundedRect(QRectF(left, box.top(), 3, box.height()), 1.5, 1.5)

    @property
    def _code_header(self) -> int:
        return self._page.styles.code_header if self._page is not None else 0

    def _paint_tasks(self, area: QRect) -> None:
        """Paint boxes over the crosses that Qt draws for tasks."""
        # In the middle: what is beside the text is nearest to its very beginning.
        middle = self.viewport().width() // 2
        block = self.cursorForPosition(QPoint(middle, area.top() - _BUTTON)).block()
        last = self.cursorForPosition(QPoint(middle, area.bottom() + _BUTTON)).blockNumber()
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        while block.isValid() and block.blockNumber() <= last:
            marker = block.blockFormat().marker()
            if marker != QTextBlockFormat.MarkerType.NoMarker:
                line = self.cursorRect(QTextCursor(block))
                left = line.left() + (6 if _is_mirrored(block) else -20)
                self._paint_task(painter, QRectF(left, line.center().y() - 7, 14, 14), marker)
            block = block.next()
        painter.end()

    def _paint_task(
        self, painter: QPainter, box: QRectF, marker: QTextBlockFormat.MarkerType
    ) -> None:
        is_done = marker == QTextBlockFormat.MarkerType.Checked
        painter.fillRect(box.adjusted(-3, -4, 4, 4), self._theme.color(self.ground))
        painter.setPen(self._edge("accentFill" if is_done else "line3"))
        painter.setBrush(self._theme.color("accentFill" if is_done else "canvas"))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        if is_done:
            mark = self._theme.pixmap("check", "onAccent", 12, self.devicePixelRatioF())
            painter.drawPixmap(box.topLeft() + QPointF(1, 1), mark)

    def mark_end_of(self, shown: ShownRow | None) -> None:
        """Mark the end of a row as where the next words will come; None: nowhere."""
        if shown is not self._caret_row:
            self._caret_row = shown
            # Its text may be painted already, and stay as it is.
            self._update_caret()

    def _paint_caret(self) -> None:
        """Mark where the next words will come."""
        self._caret = self._caret_box()
        if self._caret.isNull():
            return
        painter = QPainter(self.viewport())
        painter.fillRect(self._caret, self._theme.color("accent"))
        painter.end()
        self._caret.translate(0, self.verticalScrollBar().value())

    def _caret_box(self) -> QRect:
        if self._caret_row is None:
            return QRect()
        cursor = QTextCursor(self.document())
        cursor.setPosition(self._caret_row.frame.lastPosition())
        if not cursor.block().text():
            cursor.movePosition(QTextCursor.MoveOperation.PreviousCharacter)
        box = self.cursorRect(cursor)
        return QRect(box.left() + 2, box.top() + 2, 7, max(8, box.height() - 4))

    def paint_below(self, top: int) -> None:
        """Paint again what stands below a height of the document, and the mark, gone or come."""
        viewport, scrolled = self.viewport(), self.verticalScrollBar().value()
        rest = viewport.rect()
        rest.setTop(max(rest.top(), top - scrolled - _MARGIN))
        viewport.update(rest)
        self._update_caret()

    def _update_caret(self) -> None:
        scrolled = self.verticalScrollBar().value()
        for area in (self._caret.translated(0, -scrolled), self._caret_box()):
            if area.isValid():
                self.viewport().update(area)

    def _on_screen(self, frame: QTextFrame) -> QRectF:
        shape = frame.frameFormat()
        box = self.document().documentLayout().frameBoundingRect(frame)
        box = box.adjusted(
            shape.leftMargin(), shape.topMargin(), -shape.rightMargin(), -shape.bottomMargin()
        )
        return box.translated(0, -self.verticalScrollBar().value())

    def _edge(self, token: str) -> QPen:
        return QPen(self._theme.color(token), 2 if self._theme.is_high_contrast else 1)

    def _on_link_pointed(self, url: QUrl) -> None:
        shown = url.toDisplayString() if not url.isEmpty() and url.scheme() != "app" else ""
        self.viewport().setToolTip(plain_tip(shown))


def _is_mirrored(block: QTextBlock) -> bool:
    return block.textDirection() == Qt.LayoutDirection.RightToLeft
