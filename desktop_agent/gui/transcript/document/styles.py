"""Formats of the transcript's text, made from the theme."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextFormat,
    QTextFrame,
    QTextFrameFormat,
)

from desktop_agent.gui.kit.theme import Theme, mono_font

# What a frame is painted as, and what a block means when it is copied.
FRAME_KIND = QTextFormat.Property.UserProperty + 1
FRAME_LANGUAGE = QTextFormat.Property.UserProperty + 2
BLOCK_ROLE = QTextFormat.Property.UserProperty + 3
# The role of a block that is the same paragraph as the one before it.
CONTINUED = "continued"

LIST_INDENT = 24
CODE_HEADER = 26
QUOTE_INDENT = 16
_PROPORTIONAL = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value
# Qt counts from the font's own line, which is about 1.2 of its size already.
_LINE_PERCENT = {"body": 138, "code": 122, "table": 118, "heading": 115, "tight": 115}


class Styles:
    """The formats for one look; rebuilt when the theme changes.

    `uncolored` is code that was written before its colours were at hand.
    """

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._chars: dict[tuple[str, str, bool, str], QTextCharFormat] = {}
        self._code_fonts: dict[tuple[int, int], QFont] = {}
        self.uncolored: list[QTextFrame] = []

    def color(self, token: str) -> QColor:
        return self._theme.color(token)

    @property
    def code_header(self) -> int:
        """The room above code for its language and its button."""
        return max(CODE_HEADER, round(CODE_HEADER * self._theme.text_px("caption") / 11))

    def text(
        self, size: str = "body", weight: str = "regular", token: str = "fg", *, mono: bool = False
    ) -> QTextCharFormat:
        """Return a copy of the format for text of this size and colour."""
        key = (size, weight, mono, token)
        found = self._chars.get(key)
        if found is None:
            found = QTextCharFormat()
            font = mono_font if mono else Theme.font
            found.setFont(font(self._theme, size, weight))
            found.setForeground(self._theme.color(token))
            self._chars[key] = found
        return QTextCharFormat(found)

    def inline_code(self, around: QTextCharFormat) -> QTextCharFormat:
        shaped = QTextCharFormat(around)
        shaped.setFont(self._code_font(around.font().pixelSize(), around.fontWeight()))
        shaped.setFontFixedPitch(True)
        shaped.setBackground(self._code_ground)
        return shaped

    def code_edge(self, around: QTextCharFormat) -> QTextCharFormat:
        """Return the format of the narrow room at both ends of code inside a line."""
        shaped = QTextCharFormat(around)
        shaped.setBackground(self._code_ground)
        return shaped

    def _code_font(self, pixels: int, weight: int) -> QFont:
        """Return the font of code among text of this size, which is made once."""
        font = self._code_fonts.get((pixels, weight))
        if font is None:
            font = mono_font(self._theme)
            font.setPixelSize(max(8, round(pixels * 0.92)))
            font.setWeight(QFont.Weight(weight))
            self._code_fonts[pixels, weight] = font
        return font

    @property
    def _code_ground(self) -> QColor:
        return self._theme.color("active" if self._theme.is_dark else "hover")

    def block(
        self, line: str = "body", *, top: float = 0, bottom: float = 8, left: float = 0
    ) -> QTextBlockFormat:
        """Return a block format; `line` names the height of its lines."""
        shaped = QTextBlockFormat()
        shaped.setTopMargin(top)
        shaped.setBottomMargin(bottom)
        shaped.setLeftMargin(left)
        shaped.setLineHeight(_LINE_PERCENT[line], _PROPORTIONAL)
        return shaped

    def code_block(self, language: str) -> QTextBlockFormat:
        """Return the format of a line of code, which reads from left to right everywhere."""
        shaped = self.block("code", bottom=0)
        shaped.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        shaped.setProperty(QTextFormat.Property.BlockCodeFence, "`")
        shaped.setProperty(QTextFormat.Property.BlockCodeLanguage, language)
        return shaped

    def nothing(self) -> tuple[QTextBlockFormat, QTextCharFormat]:
        """Return the formats of a block that is there but takes no room."""
        block = QTextBlockFormat()
        block.setLineHeight(0.01, _FIXED)
        char = QTextCharFormat()
        font = QFont()
        font.setPixelSize(1)
        char.setFont(font)
        return block, char

    def placeholder(self, height: float) -> tuple[QTextBlockFormat, QTextCharFormat]:
        """Return the formats of the room for a card; its words are there, but can't be seen."""
        block, char = self.nothing()
        block.setLineHeight(height, _FIXED)
        block.setNonBreakableLines(True)
        block.setProperty(BLOCK_ROLE, "card")
        char.setForeground(QColor(0, 0, 0, 0))
        return block, char

    def frame(
        self,
        kind: str,
        *,
        padding: float = 0,
        top: float = 0,
        bottom: float = 0,
        left: float = 0,
        right: float = 0,
    ) -> QTextFrameFormat:
        """Return a frame format without an edge; edges are painted by its kind."""
        shaped = QTextFrameFormat()
        shaped.setBorder(0)
        shaped.setPadding(padding)
        shaped.setTopMargin(top)
        shaped.setBottomMargin(bottom)
        shaped.setLeftMargin(left)
        shaped.setRightMargin(right)
        shaped.setProperty(FRAME_KIND, kind)
        return shaped
