"""A diff with line numbers, painted line by line; it scrolls, and leaves nothing out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec
from PySide6.QtCore import QCoreApplication, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from desktop_agent.core.messages import DiffDisplay
from desktop_agent.gui.kit.lists.keyboard_focus import PaintsRing
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme, mono_font

_GROUNDS = {"added": "addBg", "removed": "delBg", "hunk": "hover"}
_COLORS = {"added": "addFg", "removed": "delFg", "hunk": "subtle", "note": "subtle"}
_SIGNS = {"added": "+", "removed": "−"}
_SPOKEN_LIMIT = 4_000
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")

translate = QCoreApplication.translate


class DiffLine(msgspec.Struct, frozen=True):
    """One line; a number is None on the side where the line does not exist."""

    kind: Literal["hunk", "same", "added", "removed", "note"]
    text: str
    old: int | None = None
    new: int | None = None


def diff_lines(patch: str) -> tuple[DiffLine, ...]:
    """Return the lines of a patch of one file, without its header and that of a single hunk."""
    lines = tuple(_lines(patch))
    is_single = sum(1 for line in lines if line.kind == "hunk") == 1
    return tuple(line for line in lines if line.kind != "hunk") if is_single else lines


def spoken_change(change: DiffDisplay) -> str:
    """Return what a screen reader says of a change, every hidden character shown.

    Of a new file that is its text, otherwise the lines that change with their numbers.
    """
    lines, is_text = shown_lines(change.patch[:_SPOKEN_LIMIT], is_new=change.is_new)
    if is_text:
        return with_marks("\n".join(line.text for line in lines))
    words = {
        "added": translate("Transcript", "Line {n} added: {text}"),
        "removed": translate("Transcript", "Line {n} removed: {text}"),
    }
    if not change.is_patch:
        words["note"] = "{text}"
    said = (
        words[line.kind].format(n=line.new or line.old, text=with_marks(line.text))
        for line in lines
        if line.kind in words
    )
    return "\n".join(said)


def shown_lines(patch: str, *, is_new: bool) -> tuple[tuple[DiffLine, ...], bool]:
    """Return what is shown of a patch, and whether that is the text of a new file alone.

    How its last line ends is not told then.
    """
    lines = diff_lines(patch)
    if not is_new or {line.kind for line in lines} not in ({"added"}, {"added", "note"}):
        return lines, False
    return tuple(line for line in lines if line.kind == "added"), True


def _lines(patch: str) -> Iterator[DiffLine]:
    old = new = 0
    is_in_hunk = False
    if patch.startswith("["):  # no patch, but why there is none
        yield DiffLine("note", patch)
        return
    for line in patch.split("\n"):
        found = _HUNK.match(line)
        if found is not None:
            old, new = int(found[1]), int(found[2])
            is_in_hunk = True
            yield DiffLine("hunk", line)
        elif not is_in_hunk or not line:
            continue
        elif line[0] == "+":
            yield DiffLine("added", line[1:], None, new)
            new += 1
        elif line[0] == "-":
            yield DiffLine("removed", line[1:], old, None)
            old += 1
        elif line[0] == "\\":
            yield DiffLine("note", line)
        else:
            yield DiffLine("same", line[1:], old, new)
            old += 1
            new += 1


class DiffView(PaintsRing, QAbstractScrollArea):
    """Shows a patch; the arrow keys scroll it."""

    def __init__(self, theme: Theme, display: DiffDisplay, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        lines, self._is_new = shown_lines(display.patch, is_new=display.is_new)
        self._lines = tuple(
            DiffLine(line.kind, with_marks(line.text.replace("\t", "    ")), line.old, line.new)
            for line in lines
        )
        self._longest = max((len(line.text) for line in self._lines), default=0)
        self.setFrameShape(QFrame.Shape.NoFrame)
        # Without one, the style paints a patch of its own where the scroll bars meet.
        self.setCornerWidget(QWidget(self))
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Changes to {path}").format(path=display.path))
        self.setAccessibleDescription(spoken_change(display))
        self.viewport().setAutoFillBackground(False)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self._measure()
        theme.changed.connect(self._on_theme_changed)

    def content_height(self, width: int = 0, limit: int | None = None) -> int:
        """Return the height of all lines, and of the scroll bar that this width calls for."""
        height = diff_height(self._theme, len(self._lines))
        if 0 < width < self._all_width:
            height += self._theme.size("scrollbar")
        return height if limit is None else min(limit, height)

    @property
    def line_count(self) -> int:
        return len(self._lines)

    @property
    def _all_width(self) -> int:
        return self._gutter + round((self._longest + 2) * self._char_width)

    def sizeHint(self) -> QSize:
        return QSize(400, self.content_height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_bars()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        height = self._line_height
        top = self.verticalScrollBar().value() - self._theme.space("xs")
        first = max(0, top // height)
        last = min(len(self._lines), (top + self.viewport().height()) // height + 1)
        for number in range(first, last):
            box = QRect(0, number * height - top, self.viewport().width(), height)
            self._paint_line(painter, self._lines[number], box)
        if self.is_ringed:
            painter.setPen(QColor(self._theme.color("accent")))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))
        painter.end()

    def _paint_again(self) -> None:
        self.viewport().update()

    def _measure(self) -> None:
        self._font = mono_font(self._theme, "small")
        self._char_width = QFontMetricsF(self._font).horizontalAdvance("0")
        digits = max((len(str(line.new or line.old or 0)) for line in self._lines), default=1)
        width = max(3, digits)
        if self._is_new:  # one column, and no sign
            self._gutter = round((width + 2) * self._char_width) + 8
        else:
            self._gutter = round((2 * width + 5) * self._char_width) + 8

    def _on_theme_changed(self) -> None:
        self._measure()
        self._fit_bars()
        self.updateGeometry()
        self.viewport().update()

    @property
    def _line_height(self) -> int:
        return self._theme.size("diff_line")

    def _fit_bars(self) -> None:
        view = self.viewport()
        self.horizontalScrollBar().setRange(0, max(0, self._all_width - view.width()))
        self.horizontalScrollBar().setPageStep(view.width())
        self.horizontalScrollBar().setSingleStep(40)
        self.verticalScrollBar().setRange(0, max(0, self.content_height() - view.height()))
        self.verticalScrollBar().setPageStep(view.height())
        self.verticalScrollBar().setSingleStep(self._line_height)

    def _paint_line(self, painter: QPainter, line: DiffLine, box: QRect) -> None:
        ground = _GROUNDS.get(line.kind)
        if ground:
            painter.fillRect(box, self._theme.color(ground))
        painter.setFont(self._font)
        gutter = self._gutter
        text_box = box.adjusted(gutter, 0, 0, 0)
        painter.setClipRect(text_box)
        painter.setPen(self._theme.color(_COLORS.get(line.kind, "fg")))
        shift = self.horizontalScrollBar().value()
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        shown, skipped = self._visible_part(line.text, shift, text_box.width())
        at = text_box.translated(skipped - shift, 0).adjusted(0, 0, shift + 4000, 0)
        painter.drawText(at, int(flags) | Qt.TextFlag.TextForceLeftToRight.value, shown)
        painter.setClipping(False)
        sign = _SIGNS.get(line.kind, "")
        side = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        if self._is_new:
            painter.setPen(self._theme.color("subtle"))
            edge = gutter - round(2 * self._char_width)
            painter.drawText(QRect(0, box.top(), edge, box.height()), side, str(line.new))
            return
        if sign:
            sign_right = gutter - round(self._char_width)
            painter.drawText(QRect(0, box.top(), sign_right, box.height()), side, sign)
        painter.setPen(self._theme.color("subtle" if not sign else _COLORS[line.kind]))
        column = (gutter - round(2.5 * self._char_width)) // 2
        for number, right in ((line.old, column), (line.new, 2 * column)):
            if number is not None:
                painter.drawText(QRect(0, box.top(), right, box.height()), side, str(number))

    def _visible_part(self, text: str, shift: int, width: int) -> tuple[str, int]:
        """Return what of a long line is on screen: drawing all of a megabyte takes seconds."""
        if len(text) < 2_000:
            return text, 0
        first = max(0, int(shift / self._char_width) - 4)
        count = int(width / self._char_width) + 8
        return text[first : first + count], round(first * self._char_width)


def diff_height(theme: Theme, lines: int) -> int:
    """Return the height of a diff of so many lines."""
    return lines * theme.size("diff_line") + 2 * theme.space("xs")
