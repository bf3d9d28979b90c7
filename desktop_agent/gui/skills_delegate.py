"""Draws a skill's row: icon, name, what it is for, where it is from, its state, its switch."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QCoreApplication,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.core.skills import Skill
from desktop_agent.gui.models.skill_model import SkillRow, can_switch, heading_text
from desktop_agent.gui.models.snapshot_list import ROW_ROLE
from desktop_agent.gui.skills_words import origin_word, state_badge, state_icon
from desktop_agent.gui.theme import Theme

translate = QCoreApplication.translate
_Index = QModelIndex | QPersistentModelIndex
_EDGE, _GAP, _ICON, _BOX = 14, 12, 16, 17
_SOFT = {"warn": "warnSoft", "err": "errSoft"}


class SkillDelegate(QStyledItemDelegate):
    """A click on the switch, or Space, sets the model's check state; it wishes, no more."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._heading = self._two_lines = QSize()
        # By number, kept by the list: a view asks the size of all rows for each layout.
        self.headings: frozenset[int] = frozenset()
        theme.changed.connect(self._measure)
        self._measure()

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the height of two lines, or of a heading."""
        return self._heading if index.row() in self.headings else self._two_lines

    def _measure(self) -> None:
        self._heading = QSize(120, self._theme.size("section_row"))
        self._two_lines = QSize(120, self._theme.size("row2") + 4)

    def editorEvent(
        self,
        event: QEvent,
        model: QAbstractItemModel,
        option: QStyleOptionViewItem,
        index: _Index,
    ) -> bool:
        """Switch on a click on the box or on Space."""
        row: SkillRow = index.data(ROW_ROLE)
        if row.skill is None or not can_switch(row.skill):
            return False
        is_wished = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Space
        if isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.LeftButton:
            hit = self._box(option).adjusted(-8, -8, 8, 8).contains(event.position().toPoint())
            if event.type() != QEvent.Type.MouseButtonRelease:
                return hit
            is_wished = hit
        if not is_wished:
            return False
        state = Qt.CheckState.Unchecked if row.skill.is_enabled else Qt.CheckState.Checked
        return model.setData(index, state, Qt.ItemDataRole.CheckStateRole)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw the row, mirrored where the window is."""
        row: SkillRow = index.data(ROW_ROLE)
        pen = _Pen(self._theme, painter, option)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if row.skill is None:
            box = pen.rect.adjusted(_EDGE, 8, -_EDGE, 0)
            pen.text(box, heading_text(row), "subtle", self._theme.font("caption", "semibold"))
        else:
            self._paint_skill(pen, row.skill, option)
        painter.restore()

    def _paint_skill(self, pen: _Pen, skill: Skill, option: QStyleOptionViewItem) -> None:
        theme = self._theme
        pen.ground()
        inner = pen.rect.adjusted(_EDGE, 0, -_EDGE, 0)
        size = theme.icon_px(_ICON)
        pen.icon(inner.left(), size, *state_icon(skill))
        left = inner.left() + size + _GAP
        right = self._box_left(inner) - _GAP
        if can_switch(skill):
            pen.switch(self._box(option), is_on=skill.is_enabled)
        # Words at the far end may take half of the row, no more.
        far = (right - left) // 2
        badge, tone = state_badge(skill)
        if badge:
            right -= pen.chip(right, badge, tone, far) + _GAP
        else:
            right -= pen.far(right, origin_word(skill.origin), far) + _GAP
        middle = inner.center().y()
        upper = QRect(left, inner.top() + 7, max(0, right - left), middle - inner.top() - 5)
        lower = QRect(left, middle + 2, upper.width(), inner.bottom() - middle - 8)
        faded = not skill.is_enabled or bool(skill.problem) or bool(skill.shadowed_by)
        bold = theme.font("ui", "semibold")
        pen.text(upper, skill.name, "muted" if faded else "fg", bold)
        if skill.scripts:
            pen.mark(upper, QFontMetrics(bold).horizontalAdvance(skill.name))
        below = skill.problem or skill.description
        pen.text(lower, below, "err" if skill.problem else pen.faint, theme.font("small"))

    def _box_left(self, inner: QRect) -> int:
        return inner.right() - self._theme.icon_px(_BOX)

    def _box(self, option: QStyleOptionViewItem) -> QRect:
        """Return where the switch is on the screen."""
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
        size = self._theme.icon_px(_BOX)
        inner = rect.adjusted(_EDGE, 0, -_EDGE, 0)
        box = QRect(self._box_left(inner), inner.center().y() - size // 2, size, size)
        return QStyle.visualRect(direction, rect, box)


class _Pen:
    """Painting in one row, mirrored when the row is."""

    def __init__(self, theme: Theme, painter: QPainter, option: QStyleOptionViewItem) -> None:
        self._theme = theme
        self._painter = painter
        self.rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        self._direction: Qt.LayoutDirection = option.direction  # pyright: ignore[reportAttributeAccessIssue]
        self._is_selected = bool(state & QStyle.StateFlag.State_Selected)
        self._is_hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        # `subtle` has too little contrast on a selected row.
        self.faint = "muted" if self._is_selected else "subtle"

    def ground(self) -> None:
        """Mark the row that is shown in detail, or lies under the mouse."""
        if self._is_selected or self._is_hovered:
            self._painter.setPen(Qt.PenStyle.NoPen)
            self._painter.setBrush(self._theme.color("active" if self._is_selected else "hover"))
            self._painter.drawRoundedRect(QRectF(self.rect).adjusted(1, 1, -1, -1), 8, 8)

    def icon(self, left: int, size: int, name: str, token: str) -> None:
        """Draw an icon in the middle of the row's height."""
        token = "accent" if self._is_selected and token == "muted" else token
        box = QRect(left, self.rect.center().y() - size // 2 + 1, size, size)
        ratio = self._painter.device().devicePixelRatioF()
        pixmap = self._theme.pixmap(name, token, size, ratio)
        self._painter.drawPixmap(self._mirror(box).topLeft(), pixmap)

    def switch(self, box: QRect, *, is_on: bool) -> None:
        """Draw the box and, when it is on, its tick."""
        painter, theme = self._painter, self._theme
        painter.setPen(QPen(theme.color("accentFill" if is_on else "line3"), 1))
        painter.setBrush(theme.color("accentFill" if is_on else "canvas"))
        painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        if is_on:
            size = box.width() - 4
            mark = theme.pixmap("check", "onAccent", size, painter.device().devicePixelRatioF())
            painter.drawPixmap(box.left() + 2, box.top() + 2, mark)

    def far(self, right: int, text: str, most: int) -> int:
        """Draw a word that ends at `right`; return the room it took."""
        font = self._theme.font("caption")
        width = min(most, QFontMetrics(font).horizontalAdvance(text) + 1)
        box = QRect(right - width, self.rect.top(), width + 1, self.rect.height())
        self.text(box, text, self.faint, font)
        return width

    def chip(self, right: int, text: str, tone: str, most: int) -> int:
        """Draw a word on a soft ground; return the room it took."""
        font = self._theme.font("caption", "medium")
        metrics = QFontMetrics(font)
        width = min(most, metrics.horizontalAdvance(text) + 17)
        high = metrics.height() + 5
        box = QRect(right - width, self.rect.center().y() - high // 2, width, high)
        ground = _SOFT.get(tone, "canvas" if self._is_selected else "hover")
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(self._theme.color(ground))
        self._painter.drawRoundedRect(QRectF(self._mirror(box)), high / 2, high / 2)
        self.text(box.adjusted(8, 0, -7, 0), text, tone or "muted", font)
        return width

    def mark(self, box: QRect, used: int) -> None:
        """Say behind the name that there are scripts, if there is room."""
        font = self._theme.font("caption", "medium")
        words = translate("Skills", "scripts")
        wide = QFontMetrics(font).horizontalAdvance(words) + 15
        if used + wide + 8 > box.width():
            return
        chip = QRect(box.left() + used + 8, box.top() + 1, wide, box.height() - 2)
        self._painter.setPen(QPen(self._theme.color("line2"), 1))
        self._painter.setBrush(Qt.BrushStyle.NoBrush)
        round_box = QRectF(self._mirror(chip)).adjusted(0.5, 0.5, -0.5, -0.5)
        self._painter.drawRoundedRect(round_box, 6, 6)
        self.text(chip.adjusted(7, 0, -6, 0), words, self.faint, font)

    def text(self, box: QRect, text: str, token: str, font: QFont) -> None:
        """Draw one line, shortened to the box."""
        painter = self._painter
        painter.setFont(font)
        painter.setPen(self._theme.color(token))
        near = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        aligned = QStyle.visualAlignment(self._direction, near) | Qt.AlignmentFlag.AlignAbsolute
        line = " ".join(text.split())
        shown = painter.fontMetrics().elidedText(line, Qt.TextElideMode.ElideRight, box.width())
        # Isolated: a description may be in a script that runs the other way.
        painter.drawText(self._mirror(box), int(aligned), f"\u2068{shown}\u2069")

    def _mirror(self, box: QRect) -> QRect:
        return QStyle.visualRect(self._direction, self.rect, box)
