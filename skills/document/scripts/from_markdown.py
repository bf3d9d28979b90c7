"""Markdown as a Word document, with Word's own headings, lists, tables and links."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from files import CODE_STYLES, OFFICE, library, storable, word

_BOXES = {"[ ] ": "\u2610 ", "[x] ": "\u2611 ", "[X] ": "\u2611 "}
_BULLETS = ("\u2022", "\u25e6", "\u25aa")
_INDENT = 360  # twentieths of a point for each level
_LEVELS = 9
_LINK_BLUE = "0563C1"
_MARKS = {"strong": "bold", "em": "italic", "s": "strike"}


class Writer:
    """Writes Markdown into a document. Pictures are looked for below `folder`."""

    def __init__(self, document: Any, folder: Path) -> None:
        self._document = document
        self._folder = folder
        self._oxml = library("docx.oxml", "python-docx")
        self._shared = library("docx.shared", "python-docx")
        self._lists: list[tuple[int, int]] = []  # number and level of each open list
        self._abstract: dict[str, int] = {}
        self._quotes = 0
        self._is_new_item = False
        self._lines: list[str] = []
        self.left_out = Counter[str]()

    def write(self, text: str) -> None:
        """Append the whole text."""
        parser = library("markdown_it", "markdown-it-py").MarkdownIt("commonmark")
        plain = _without_head(storable(text))
        self._lines = plain.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        tokens = parser.enable(["table", "strikethrough"]).parse(plain)
        at = 0
        while at < len(tokens):
            at = self._block(tokens, at)

    def _block(self, tokens: list[Any], at: int) -> int:
        token = tokens[at]
        kind = token.type
        if kind == "heading_open":
            paragraph = self._document.add_paragraph(style=self._style(f"Heading {token.tag[1:]}"))
            self._inline(paragraph, tokens[at + 1].children)
            return at + 3
        if kind == "paragraph_open":
            self._inline(self._paragraph(), tokens[at + 1].children)
            return at + 3
        if kind == "table_open":
            return self._table(tokens, at)
        if kind in {"fence", "code_block"}:
            for line in token.content.rstrip("\n").split("\n"):
                self._document.add_paragraph(line, style=self._code_style())
        elif kind == "hr":
            self._rule()
        elif kind == "html_block":
            self.left_out["HTML"] += 1
        else:
            self._enter_or_leave(token)
        return at + 1

    def _enter_or_leave(self, token: Any) -> None:
        name, _, way = token.type.rpartition("_")
        if name in {"bullet_list", "ordered_list"}:
            if way == "open":
                self._open_list(token)
            else:
                self._lists.pop()
        elif name == "blockquote":
            self._quotes += 1 if way == "open" else -1
        elif token.type == "list_item_open":
            self._is_new_item = True

    def _paragraph(self) -> Any:
        if self._lists:
            paragraph = self._document.add_paragraph(style=self._style("List Paragraph"))
            number, level = self._lists[-1]
            if self._is_new_item:
                self._number(paragraph, number, level)
            else:
                indent = _INDENT * (level + 1) * 635  # in English metric units
                paragraph.paragraph_format.left_indent = self._shared.Emu(indent)
            self._is_new_item = False
            return paragraph
        return self._document.add_paragraph(style=self._style("Quote") if self._quotes else None)

    def _style(self, name: str) -> Any:
        try:
            return self._document.styles[name]
        except KeyError:
            return None

    def _code_style(self) -> Any:
        for name in CODE_STYLES:
            if (style := self._style(name)) is not None:
                return style
        kinds = library("docx.enum.style", "python-docx").WD_STYLE_TYPE
        style = self._document.styles.add_style(CODE_STYLES[0], kinds.PARAGRAPH)
        style.font.name, style.font.size = "Consolas", self._shared.Pt(9.5)
        style.paragraph_format.space_after = self._shared.Pt(0)
        return style

    def _rule(self) -> None:
        marks = self._document.add_paragraph()._p.get_or_add_pPr()
        border = self._element("pBdr")
        line = {"val": "single", "sz": "6", "space": "1", "color": "auto"}
        border.append(self._element("bottom", **line))
        marks.append(border)

    # -- lists -----------------------------------------------------------------------------

    def _open_list(self, token: Any) -> None:
        kind = "bullet" if token.type == "bullet_list_open" else "decimal"
        level = min(len(self._lists), _LEVELS - 1)
        start = int(token.attrs.get("start", 1))
        self._lists.append((self._new_number(kind, level, start), level))

    def _new_number(self, kind: str, level: int, start: int) -> int:
        """Return a list of its own, so that its numbers begin anew."""
        numbering = self._document.part.numbering_part.element
        if kind not in self._abstract:
            self._abstract[kind] = self._define(numbering, kind)
        taken = [int(n.get(word("numId"))) for n in numbering.findall(word("num"))]
        number = max(taken, default=0) + 1
        made = self._element("num", numId=str(number))
        made.append(self._element("abstractNumId", val=str(self._abstract[kind])))
        if kind == "decimal":
            override = self._element("lvlOverride", ilvl=str(level))
            override.append(self._element("startOverride", val=str(start)))
            made.append(override)
        _put_behind(numbering, ("num", "abstractNum", "numPicBullet"), made)
        return number

    def _define(self, numbering: Any, kind: str) -> int:
        existing = numbering.findall(word("abstractNum"))
        taken = [int(found.get(word("abstractNumId"))) for found in existing]
        number = max(taken, default=0) + 1
        made = self._element("abstractNum", abstractNumId=str(number))
        made.append(self._element("multiLevelType", val="hybridMultilevel"))
        for level in range(_LEVELS):
            text = _BULLETS[level % 3] if kind == "bullet" else f"%{level + 1}."
            lines = self._element("lvl", ilvl=str(level))
            lines.append(self._element("start", val="1"))
            lines.append(self._element("numFmt", val=kind))
            lines.append(self._element("lvlText", val=text))
            place = self._element("pPr")
            left = {"left": str(_INDENT * (level + 1)), "hanging": str(_INDENT)}
            place.append(self._element("ind", **left))
            lines.append(place)
            made.append(lines)
        _put_behind(numbering, ("abstractNum", "numPicBullet"), made)
        return number

    def _number(self, paragraph: Any, number: int, level: int) -> None:
        numbers = paragraph._p.get_or_add_pPr().get_or_add_numPr()
        numbers.get_or_add_ilvl().val = level
        numbers.get_or_add_numId().val = number

    def _element(self, name: str, **attributes: str) -> Any:
        made = self._oxml.OxmlElement(f"w:{name}")
        for key, value in attributes.items():
            made.set(word(key), value)
        return made

    # -- text ------------------------------------------------------------------------------

    def _inline(self, paragraph: Any, tokens: list[Any], *, is_bold: bool = False) -> None:
        look = {"bold": is_bold, "italic": False, "strike": False}
        link = ""
        for at, token in enumerate(tokens):
            name, _, way = token.type.rpartition("_")
            if name in _MARKS:
                look[_MARKS[name]] = way == "open" or (is_bold and name == "strong")
            elif token.type in {"link_open", "link_close"}:
                link = str(token.attrs.get("href", "")) if way == "open" else ""
            elif token.type == "image":
                self._picture(paragraph, token)
            elif token.type == "hardbreak":
                paragraph.add_run().add_break()
            elif token.type == "html_inline":
                self._html(paragraph, token.content)
            else:
                text = " " if token.type == "softbreak" else token.content
                if not at:
                    text = self._boxed(text)
                self._run(paragraph, text, link, look, is_code=token.type == "code_inline")

    def _boxed(self, text: str) -> str:
        for words, box in _BOXES.items():
            if self._lists and text.startswith(words):
                return box + text[len(words) :]
        return text

    def _html(self, paragraph: Any, text: str) -> None:
        if re.fullmatch(r"<br\s*/?>", text):
            paragraph.add_run().add_break()
        else:
            self.left_out["HTML"] += 1

    def _run(
        self, paragraph: Any, text: str, link: str, look: dict[str, bool], *, is_code: bool
    ) -> None:
        run = paragraph.add_run(storable(text))
        for name in ("bold", "italic"):
            setattr(run, name, look[name] or None)
        run.font.strike = look["strike"] or None
        if is_code:
            run.font.name = "Consolas"
        if link:
            run.font.underline = True
            run.font.color.rgb = self._shared.RGBColor.from_string(_LINK_BLUE)
            relation = self._document.part.relate_to(link, f"{OFFICE}/hyperlink", is_external=True)
            around = self._element("hyperlink")
            around.set(f"{{{OFFICE}}}id", relation)
            paragraph._p.append(around)
            around.append(run._r)

    def _picture(self, paragraph: Any, token: Any) -> None:
        source = unquote(str(token.attrs.get("src", "")))
        path = (self._folder / source).resolve()
        is_inside = path.is_relative_to(self._folder.resolve()) and path.is_file()
        if not is_inside:
            self.left_out["pictures that are not below the Markdown file's folder"] += 1
            paragraph.add_run(f"[{token.content or source}]").italic = True
            return
        section = self._document.sections[-1]
        widest = section.page_width - section.left_margin - section.right_margin
        try:
            shape = paragraph.add_run().add_picture(str(path))
        except (OSError, library("docx.image.exceptions", "python-docx").UnrecognizedImageError):
            self.left_out["pictures of a kind that Word does not take"] += 1
            return
        if shape.width > widest:
            shape.width, shape.height = widest, round(shape.height * widest / shape.width)
        shape._inline.docPr.set("descr", token.content)

    # -- tables ----------------------------------------------------------------------------

    def _table(self, tokens: list[Any], at: int) -> int:
        end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
        rows: list[list[tuple[Any, Any]]] = []
        for before, token in zip(tokens[at:end], tokens[at + 1 : end], strict=False):
            if before.type == "tr_open":
                rows.append([])
                self._count_cut(tokens[at], before)
            if before.type in {"th_open", "td_open"}:
                rows[-1].append((before, token))
        table = self._document.add_table(len(rows), max(len(row) for row in rows))
        table.style = self._style("Table Grid") or table.style
        sides = library("docx.enum.text", "python-docx").WD_ALIGN_PARAGRAPH
        for row, cells in zip(table.rows, rows, strict=True):
            for cell, (opening, inline) in zip(row.cells, cells, strict=False):
                paragraph = cell.paragraphs[0]
                self._inline(paragraph, inline.children, is_bold=opening.type == "th_open")
                side = str(opening.attrs.get("style", "")).rpartition(":")[2].upper()
                if side in {"CENTER", "RIGHT"}:
                    paragraph.alignment = sides[side]
        # Word joins two tables that touch.
        self._document.add_paragraph()
        return end + 1

    def _count_cut(self, table: Any, row: Any) -> None:
        """Count the cells to the right of the header's last one, which Markdown leaves out."""
        if not table.map or not row.map:
            return
        header, line = self._lines[table.map[0]], self._lines[row.map[0]]
        if (cut := _cells_in(line) - _cells_in(header)) > 0:
            self.left_out["cells to the right of a table's header"] += cut


def _cells_in(line: str) -> int:
    return len(re.split(r"(?<!\\)\|", line.strip().strip("|")))


def _put_behind(parent: Any, names: tuple[str, ...], element: Any) -> None:
    """Put an element behind the last of its kind, else of the kinds before: Word wants an order."""
    for name in names:
        if found := parent.findall(word(name)):
            found[-1].addnext(element)
            return
    parent.insert(0, element)


def _without_head(text: str) -> str:
    """Leave out front matter: fields for programs, not text."""
    found = re.match(r"---\n(?:[A-Za-z][\w-]*:.*\n|[ \t].*\n)+---\n", text)
    return text[found.end() :] if found else text
