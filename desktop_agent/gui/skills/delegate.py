"""Draws a skill's row: icon, name, what it is for, where it is from, its state, its switch."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionViewItem, QWidget

from desktop_agent.core.skills import Skill
from desktop_agent.gui.kit.lists.check_box import CheckBoxDelegate, paint_box, trailing_box
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.skills.list_model import SkillRow, can_switch, heading_text
from desktop_agent.gui.skills.text import origin_word, state_badge, state_icon

translate = QCoreApplication.translate
_EDGE, _GAP, _ICON, _BOX = 14, 12, 16, 17
_SOFT = {"warn": "warnSoft", "err": "errSoft"}


class SkillDelegate(CheckBoxDelegate):
    """Icon, two lines, badges, a box."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, trailing_box(theme, _EDGE, _BOX), parent)
        self._heading = self._two_lines = QSize()
        # By number, kept by the list: a view asks the size of all rows for each layout.
        self.headings: frozenset[int] = frozenset()
        theme.changed.connect(self._measure)
        self._measure()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return self._heading if index.row() in self.headings else self._two_lines

    def _measure(self) -> None:
        self._heading = QSize(120, self._theme.size("section_row"))
        self._two_lines = QSize(120, self._theme.size("row2") + 4)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: SkillRow = index.data(ROW_ROLE)
        pen = _SkillPainter(self._theme, painter, option)
        with pen:
            if row.skill is None:
                box = pen.rect.adjusted(_EDGE, 8, -_EDGE, 0)
                font = self._theme.font("caption", "semibold")
                pen.text(box, heading_text(row), "subtle", font)
            else:
                self._paint_skill(pen, row.skill)

    def _paint_skill(self, pen: _SkillPainter, skill: Skill) -> None:
        theme = self._theme
        pen.ground()
        inner = pen.rect.adjusted(_EDGE, 0, -_EDGE, 0)
        size = theme.icon_px(_ICON)
        icon, token = state_icon(skill)
        token = "accent" if pen.is_selected and token == "muted" else token
        top = inner.center().y() - size // 2 + 1
        pen.icon(QRect(inner.left(), top, size, size), icon, token)
        left = inner.left() + size + _GAP
        box = self.box(pen.rect)
        right = box.left() - _GAP
        if can_switch(skill):
            paint_box(theme, pen.painter, pen.mirrored(box), is_on=skill.is_enabled)
        # Words at the trailing end may take half of the row, no more.
        trailing = (right - left) // 2
        badge, tone = state_badge(skill)
        if badge:
            right -= pen.badge(right, badge, tone, trailing) + _GAP
        else:
            right -= pen.trailing(right, origin_word(skill.origin), trailing) + _GAP
        middle = inner.center().y()
        upper = QRect(left, inner.top() + 7, max(0, right - left), middle - inner.top() - 5)
        lower = QRect(left, middle + 2, upper.width(), inner.bottom() - middle - 8)
        faded = not skill.is_enabled or bool(skill.problem) or bool(skill.shadowed_by)
        bold = theme.font("ui", "semibold")
        pen.text(upper, skill.name, "muted" if faded else "fg", bold)
        if skill.scripts:
            pen.mark(upper, QFontMetrics(bold).horizontalAdvance(skill.name))
        below = skill.problem or skill.description
        below = " ".join(below.split())
        pen.text(lower, below, "err" if skill.problem else pen.faint, theme.font("small"))


class _SkillPainter(RowPainter):
    """What only a skill's row has."""

    def trailing(self, right: int, text: str, most: int) -> int:
        """Draw a word that ends at `right`; return the room it took."""
        font = self._theme.font("caption")
        width = min(most, QFontMetrics(font).horizontalAdvance(text) + 1)
        box = QRect(right - width, self.rect.top(), width + 1, self.rect.height())
        self.text(box, text, self.faint, font)
        return width

    def badge(self, right: int, text: str, tone: str, most: int) -> int:
        """Draw a word on a soft ground; return the room it took."""
        font = self._theme.font("caption", "medium")
        metrics = QFontMetrics(font)
        width = min(most, metrics.horizontalAdvance(text) + 17)
        high = metrics.height() + 5
        box = QRect(right - width, self.rect.center().y() - high // 2, width, high)
        ground = _SOFT.get(tone, "canvas" if self.is_selected else "hover")
        self._round(QRectF(self.mirrored(box)), high / 2, ground)
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
        self.painter.setPen(QPen(self._theme.color("line2"), 1))
        self.painter.setBrush(Qt.BrushStyle.NoBrush)
        self.painter.drawRoundedRect(
            QRectF(self.mirrored(chip)).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6
        )
        self.text(chip.adjusted(7, 0, -6, 0), words, self.faint, font)
