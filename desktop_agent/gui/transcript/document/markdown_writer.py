"""Writes blocks of Markdown into a document through a cursor. No HTML is ever made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt, QUrl
from PySide6.QtGui import (
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFrame,
    QTextFrameFormat,
    QTextList,
    QTextListFormat,
    QTextTable,
    QTextTableFormat,
)

from desktop_agent.gui.kit.rtl import has_right_to_left
from desktop_agent.gui.kit.safe_text import breakable, clean, with_marks, without_direction_marks
from desktop_agent.gui.transcript.document.highlighting import is_ready, spans_by_line
from desktop_agent.gui.transcript.document.markdown import (
    LONG_PARAGRAPH,
    Block,
    pieces,
    safe_link,
    task_mark,
)
from desktop_agent.gui.transcript.document.styles import (
    BLOCK_ROLE,
    CONTINUED,
    FRAME_KIND,
    FRAME_LANGUAGE,
    LIST_INDENT,
    QUOTE_INDENT,
    Styles,
)

if TYPE_CHECKING:
    from markdown_it.token import Token

translate = QCoreApplication.translate

# Only the app itself makes links of this scheme; a model's Markdown can't.
SHOW_ALL = "app:show-all"
# More cells than this are cut: each is a layout of its own.
_MAX_ROWS = 500
_MAX_COLUMNS = 60
_HEADING_SIZES = {"h1": "h1", "h2": "h2", "h3": "h3"}
_DISCS = (
    QTextListFormat.Style.ListDisc,
    QTextListFormat.Style.ListCircle,
    QTextListFormat.Style.ListSquare,
)


class MarkdownWriter:
    """Writes at the end of one frame. The cursor stands in the frame's last block.

    A block is *fresh* while it is empty and still to be used; a fresh block that stays
    unused, as between two frames, is made to take no room.
    """

    def __init__(self, cursor: QTextCursor, styles: Styles, *, is_fresh: bool = True) -> None:
        self.cursor = cursor
        self._styles = styles
        self._fresh = is_fresh
        self._lists: list[QTextListFormat] = []
        self._open: list[QTextList | None] = []
        self._color = "fg"
        self._item_pending = False
        self._is_continued = False
        self._by_type: dict[str, Callable[[Sequence[Token], int], int]] = {
            "heading_open": self._heading,
            "paragraph_open": self._paragraph,
            "bullet_list_open": self._list_open,
            "ordered_list_open": self._list_open,
            "list_item_open": self._item_open,
            "bullet_list_close": self._list_close,
            "ordered_list_close": self._list_close,
            "fence": self._fence,
            "code_block": self._fence,
            "table_open": self._table,
            "blockquote_open": self._quote,
            "hr": self._rule,
        }

    @classmethod
    def from_position(
        cls, frame: QTextFrame, styles: Styles, start: int, *, is_fresh: bool = True
    ) -> MarkdownWriter:
        """Return a writer for the rest of a frame, which is removed."""
        cursor = frame.firstCursorPosition()
        cursor.setPosition(start)
        cursor.setPosition(frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        return cls(cursor, styles, is_fresh=is_fresh)

    @property
    def is_fresh(self) -> bool:
        """Whether the cursor's block is empty and still to be used."""
        return self._fresh

    # -- public --------------------------------------------------------------------------

    def write(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            self._is_continued = block.is_continued
            self._tokens(block.tokens)

    def finish(self) -> None:
        """Make a fresh block that was not used take no room."""
        if self._fresh:
            self._collapse()

    def plain(self, text: str, char: QTextCharFormat, block: QTextBlockFormat) -> None:
        """Write text as it is, line by line."""
        for line in breakable(without_direction_marks(clean(text))).split("\n"):
            self.text_block(line, block, char)

    def long_paragraph(self, text: str, start: int = 0) -> int:
        """Write a paragraph without marks, from `start` on; return where its last piece begins."""
        char = self._styles.text()
        for number, (at, piece) in enumerate(pieces(text, start)):
            if number:
                self._close_up()
            block = self._styles.block()
            if at:
                block.setProperty(BLOCK_ROLE, CONTINUED)
            self.text_block(breakable(piece).replace("\n", "\u2028"), block, char)
            start = at
        return start

    def text_block(self, text: str, block: QTextBlockFormat, char: QTextCharFormat) -> None:
        self.new_block(block, char)
        self.cursor.insertText(text, char)

    def offer_whole(self, count: int, *, top: float = 0, bottom: float = 0, note: str = "") -> None:
        """Write a link to the whole of a text of which only the beginning is here."""
        muted = self._styles.text("small", token="muted")
        link = self._styles.text("small", token="accent")
        link.setAnchor(True)
        link.setAnchorHref(SHOW_ALL)
        self.text_block(note, self._styles.block(top=top, bottom=bottom), muted if note else link)
        words = translate("Transcript", "Show all {count} characters")
        self.cursor.insertText(words.format(count=f"{count:,}"), link)

    def _close_up(self) -> None:
        """Let the next block follow without a gap."""
        block = self.cursor.blockFormat()
        block.setBottomMargin(0)
        self.cursor.setBlockFormat(block)

    def new_block(self, block: QTextBlockFormat, char: QTextCharFormat) -> None:
        """Begin a block, in the fresh one if there is one."""
        if self._fresh:
            self.cursor.setBlockFormat(block)
            self.cursor.setBlockCharFormat(char)
        else:
            self.cursor.insertBlock(block, char)
        self._fresh = False

    def enter(self, shape: QTextFrameFormat) -> QTextFrame:
        """Begin a frame; the cursor goes into it."""
        if self._fresh:
            self._collapse()
        frame = self.cursor.insertFrame(shape)
        self._fresh = True
        return frame

    def leave(self, frame: QTextFrame) -> None:
        """Go on behind a frame."""
        if self._fresh:
            self._collapse()
        self.cursor.setPosition(frame.lastPosition() + 1)
        self._fresh = True

    def begin_code(self, language: str) -> QTextFrame:
        """Begin a frame of code; its language and its button are painted above its text."""
        edge = self._styles.frame(
            "code",
            padding=12,
            top=6 + self._styles.code_header,
            bottom=14 if not self._lists else 8,
            left=LIST_INDENT * len(self._lists),
        )
        edge.setProperty(FRAME_LANGUAGE, clean(language))
        return self.enter(edge)

    def code_lines(self, code: str, language: str) -> None:
        block = self._styles.code_block(language)
        has_colors = is_ready(language)
        for line in spans_by_line(clean(code), language if has_colors else ""):
            self.new_block(block, self._styles.text("ui", mono=True))
            for text, token in line:
                shaped = self._styles.text("ui", token=token or "fg", mono=True)
                self.cursor.insertText(breakable(with_marks(text)), shaped)
        if not has_colors:
            self._styles.uncolored.append(self.cursor.currentFrame())

    # -- blocks --------------------------------------------------------------------------

    def _tokens(self, tokens: Sequence[Token]) -> None:
        at = 0
        while at < len(tokens):
            write = self._by_type.get(tokens[at].type)
            at = write(tokens, at) if write is not None else at + 1

    def _heading(self, tokens: Sequence[Token], at: int) -> int:
        size = _HEADING_SIZES.get(tokens[at].tag, "body")
        block = self._styles.block("heading", top=14, bottom=6, left=self._left)
        block.setHeadingLevel(int(tokens[at].tag[1]))
        char = self._styles.text(size, "semibold", self._color)
        self._begin_text(block, char)
        self.inline(tokens[at + 1], char)
        return at + 3

    def _paragraph(self, tokens: Sequence[Token], at: int) -> int:
        is_tight = bool(self._lists) and tokens[at].hidden
        block = self._styles.block(bottom=4 if is_tight else 8, left=self._left)
        inline = tokens[at + 1]
        if tokens[at].level == 0 and len(inline.content) > LONG_PARAGRAPH:
            self.long_paragraph(inline.content)
            return at + 3
        char = self._styles.text(token=self._color)
        if self._item_pending:
            inline = self._without_task(block, inline)
        self._begin_text(block, char)
        self.inline(inline, char)
        return at + 3

    def _without_task(self, block: QTextBlockFormat, inline: Token) -> Token:
        """Turn the sign of a task into the block's marker; return the line without the sign."""
        first = inline.children[0] if inline.children else None
        if first is None or first.type != "text":
            return inline
        is_done, rest = task_mark(first.content)
        if is_done is None:
            return inline
        marker = QTextBlockFormat.MarkerType
        block.setMarker(marker.Checked if is_done else marker.Unchecked)
        return inline.copy(children=[first.copy(content=rest), *(inline.children or [])[1:]])

    @property
    def _left(self) -> float:
        """The indent of text that belongs to a list item but is not its first block."""
        return 0 if self._item_pending else LIST_INDENT * len(self._lists)

    def _begin_text(self, block: QTextBlockFormat, char: QTextCharFormat) -> None:
        self.new_block(block, char)
        if self._item_pending:
            self._item_pending = False
            listed = self._open[-1]
            if listed is None:
                self._open[-1] = self.cursor.createList(self._lists[-1])
            else:
                listed.add(self.cursor.block())

    def _list_open(self, tokens: Sequence[Token], at: int) -> int:
        self._give_up_item()
        shape = QTextListFormat()
        if tokens[at].type == "ordered_list_open":
            shape.setStyle(QTextListFormat.Style.ListDecimal)
            start = tokens[at].attrGet("start")
            shape.setStart(int(start) if start is not None else 1)
        else:
            shape.setStyle(_DISCS[min(len(self._lists), 2)])
        self._lists.append(shape)
        shape.setIndent(len(self._lists))
        self._open.append(None)
        return at + 1

    def _item_open(self, tokens: Sequence[Token], at: int) -> int:
        self._give_up_item()
        self._item_pending = True
        return at + 1

    def _give_up_item(self) -> None:
        """Give an item that has no text of its own an empty line, so that its mark shows."""
        if self._item_pending:
            self._begin_text(self._styles.block(bottom=4), self._styles.text(token=self._color))

    def _list_close(self, tokens: Sequence[Token], at: int) -> int:
        self._give_up_item()
        self._lists.pop()
        self._open.pop()
        if not self._lists and not self._fresh and not self._is_continued:
            block = self.cursor.blockFormat()
            block.setBottomMargin(10)
            self.cursor.setBlockFormat(block)
        return at + 1

    def _fence(self, tokens: Sequence[Token], at: int) -> int:
        self._give_up_item()
        token = tokens[at]
        language = token.info.strip().split()[0] if token.info.strip() else ""
        frame = self.begin_code(language)
        self.code_lines(token.content.rstrip("\n"), language)
        self.leave(frame)
        return at + 1

    def _table(self, tokens: Sequence[Token], at: int) -> int:
        self._give_up_item()
        end = next(n for n in range(at, len(tokens)) if tokens[n].type == "table_close")
        if self._fresh:
            self._collapse()
        table = write_table(tokens[at:end], self.cursor, self._styles, self.inline)
        self.cursor.setPosition(table.lastPosition() + 1)
        self._fresh = True
        return end + 1

    def _quote(self, tokens: Sequence[Token], at: int) -> int:
        self._give_up_item()
        depth, end = 1, at + 1
        while depth:
            depth += {"blockquote_open": 1, "blockquote_close": -1}.get(tokens[end].type, 0)
            end += 1
        left = LIST_INDENT * len(self._lists) + QUOTE_INDENT
        # Room for the bar on the other side, which is the first one there.
        right = QUOTE_INDENT if any(has_right_to_left(t.content) for t in tokens[at:end]) else 0
        shape = self._styles.frame("quote", top=8, bottom=8, left=left, right=right)
        frame = self.enter(shape)
        kept = self._color, self._lists, self._open
        self._color, self._lists, self._open = "muted", [], []
        self._tokens(tokens[at + 1 : end - 1])
        self._color, self._lists, self._open = kept
        self.leave(frame)
        return end

    def _rule(self, tokens: Sequence[Token], at: int) -> int:
        self._give_up_item()
        frame = self.enter(self._styles.frame("rule", top=10, bottom=12))
        self.new_block(*self._styles.nothing())
        self.leave(frame)
        return at + 1

    def _collapse(self) -> None:
        block, char = self._styles.nothing()
        self.cursor.setBlockFormat(block)
        self.cursor.setBlockCharFormat(char)

    # -- inside a line -------------------------------------------------------------------

    def inline(self, token: Token, char: QTextCharFormat) -> None:
        formats = [QTextCharFormat(char)]
        for piece in token.children or ():
            if piece.type.endswith("_open"):
                formats.append(self._shaped(piece, formats[-1]))
            elif piece.type.endswith("_close"):
                if len(formats) > 1:
                    formats.pop()
            else:
                self._piece(piece, formats[-1])

    def _shaped(self, piece: Token, around: QTextCharFormat) -> QTextCharFormat:
        shaped = QTextCharFormat(around)
        if piece.type == "strong_open":
            shaped.setFontWeight(600)
        elif piece.type == "em_open":
            shaped.setFontItalic(True)
        elif piece.type == "s_open":
            shaped.setFontStrikeOut(True)
        elif piece.type == "link_open":
            self._link(shaped, piece.attrGet("href"))
        return shaped

    def _link(self, shaped: QTextCharFormat, address: object) -> None:
        safe = safe_link(address)
        if not safe:
            return
        shaped.setAnchor(True)
        shaped.setAnchorHref(QUrl(safe, QUrl.ParsingMode.TolerantMode).toString())
        shaped.setForeground(self._styles.color("accent"))
        shaped.setFontUnderline(True)
        shaped.setUnderlineColor(self._styles.color("line3"))

    def _piece(self, piece: Token, shaped: QTextCharFormat) -> None:
        if piece.type == "code_inline":
            words = breakable(with_marks(clean(piece.content)))
            edge = self._styles.code_edge(shaped)
            self.cursor.insertText("\u2009", edge)
            self.cursor.insertText(words, self._styles.inline_code(shaped))
            self.cursor.insertText("\u2009", edge)
        elif piece.type == "softbreak":
            self.cursor.insertText(" ", shaped)
        elif piece.type == "hardbreak":
            self.cursor.insertText("\u2028", shaped)
        elif piece.type == "image":
            self._image(piece, shaped)
        else:
            words = clean(without_direction_marks(piece.content)).replace("\n", " ")
            self.cursor.insertText(breakable(words), shaped)

    def _image(self, piece: Token, around: QTextCharFormat) -> None:
        """Name the picture: nothing is ever loaded for one."""
        shaped = QTextCharFormat(around)
        shaped.setForeground(self._styles.color("subtle"))
        source = piece.attrGet("src")
        if not around.isAnchor() and safe_link(source):
            self._link(shaped, source)
        alt = clean(without_direction_marks(piece.content)).replace("\n", " ")
        self.cursor.insertText(breakable(f"[image: {alt}]"), shaped)


def write_table(
    tokens: Sequence[Token],
    cursor: QTextCursor,
    styles: Styles,
    write_inline: Callable[[Token, QTextCharFormat], None],
) -> QTextTable:
    """Insert the table at the cursor, which `write_inline` writes through as well."""
    rows = _table_rows(tokens)
    table = cursor.insertTable(len(rows), max(len(row) for row in rows), _table_shape(styles))
    for number, row in enumerate(rows):
        for column, (cell, inline) in enumerate(row):
            place = table.cellAt(number, column)
            shaped = place.format().toTableCellFormat()
            shaped.setLeftPadding(10)
            shaped.setRightPadding(10)
            is_head = cell.type == "th_open"
            if is_head:
                shaped.setBackground(styles.color("sunken"))
            place.setFormat(shaped)
            cursor.setPosition(place.firstCursorPosition().position())
            block = styles.block("table", bottom=0)
            block.setAlignment(_alignment(str(cell.attrGet("style") or "")))
            char = styles.text("ui", "semibold" if is_head else "regular")
            cursor.setBlockFormat(block)
            cursor.setBlockCharFormat(char)
            write_inline(inline, char)
    return table


def _table_shape(styles: Styles) -> QTextTableFormat:
    shape = QTextTableFormat()
    shape.setCellPadding(6)
    shape.setCellSpacing(0)
    shape.setBorder(1)
    shape.setBorderBrush(styles.color("line2"))
    shape.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    shape.setBorderCollapse(True)
    shape.setTopMargin(4)
    shape.setBottomMargin(12)
    shape.setHeaderRowCount(1)
    shape.setProperty(FRAME_KIND, "table")
    return shape


def _table_rows(tokens: Sequence[Token]) -> list[list[tuple[Token, Token]]]:
    """Return the cells of each row, each with what stands in it."""
    rows: list[list[tuple[Token, Token]]] = []
    for number, token in enumerate(tokens):
        if token.type == "tr_open":
            if len(rows) == _MAX_ROWS:
                break
            rows.append([])
        elif token.type in ("th_open", "td_open") and len(rows[-1]) < _MAX_COLUMNS:
            rows[-1].append((token, tokens[number + 1]))
    return rows


def _alignment(style: str) -> Qt.AlignmentFlag:
    if "right" in style:
        return Qt.AlignmentFlag.AlignRight
    if "center" in style:
        return Qt.AlignmentFlag.AlignHCenter
    return Qt.AlignmentFlag.AlignLeading
