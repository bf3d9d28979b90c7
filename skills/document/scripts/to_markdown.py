"""A Word document as Markdown: what it says and how it is ordered, not how it looks."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from files import CODE_FONTS, CODE_STYLES, DRAWING, OFFICE, library, word

# An underscore within a word marks nothing.
_SPECIAL = re.compile(r"([\\`*\[\]<]|(?<![^\W_])_|_(?![^\W_])|~(?=~)|(?<=~)~|&(?=#?[A-Za-z0-9]+;))")
_LINE_START = re.compile(r"^(?:([#>+-])|(\d+)([.)])(?=\s|$))", re.MULTILINE)
_BOXES = {"\u2610": "[ ]", "\u2611": "[x]", "\u2612": "[x]"}
# What only stands around text, or around rows and cells of a table.
_AROUND = ("sdt", "sdtContent", "ins", "moveTo", "smartTag", "customXml", "fldSimple", "dir", "bdo")
_GONE = {word("del"), word("moveFrom")}
_DRAWN = {"drawing", "pict", "object"}
_SIGNS = {"tab": " ", "ptab": " ", "noBreakHyphen": "-"}
# Letters of Wingdings, of the fonts that hold pictures in the place of letters.
_SYMBOLS = {
    "6f": "\u2610", "71": "\u2610", "a8": "\u2610", "fd": "\u2612", "fe": "\u2611",
    "78": "\u2612", "fb": "\u2717", "fc": "\u2713", "e0": "\u2192", "a7": "\u25aa",
}  # fmt: skip
_PLAIN = (False, False, False, False)


class Converter:
    """Turns one document. `images` is the folder for its pictures, if they are wanted.

    The Markdown will lie in `folder`, from where its pictures are named.
    """

    def __init__(self, document: Any, images: Path | None, folder: Path) -> None:
        self._document = document
        self._images = images
        self._folder = folder
        self._saved: dict[str, str] = {}
        self._counters: dict[tuple[str, int], int] = {}
        self._widths: list[int] = []
        self._list = ""
        self._text = library("docx.text.paragraph", "python-docx")
        self._table = library("docx.table", "python-docx")
        self.left_out = Counter[str]()
        self._notes = self._read_notes("footnote", "") | self._read_notes("endnote", "e")
        self._cited: list[str] = []

    def convert(self) -> str:
        """Return the Markdown."""
        blocks: list[tuple[str, str]] = []
        _unwrap(self._document.element.body)
        for kind, text in self._blocks(self._document.element.body):
            if blocks and kind == blocks[-1][0] == "code":
                blocks[-1] = (kind, f"{blocks[-1][1]}\n{text}")
            else:
                blocks.append((kind, text))
        lines: list[str] = []
        before = ""
        for kind, text in blocks:
            is_item = kind == "item" and before in {"item", "list", "more"}
            if kind == before == "quote":
                lines.append(">")
            elif lines and not is_item:
                lines.append("")
            lines.append(f"```\n{text}\n```" if kind == "code" else text)
            before = kind
        notes = [f"[^{number}]: {self._notes[number]}" for number in self._cited]
        self._count_left_out()
        return "\n".join([*lines, *([""] if notes else []), *notes]).strip("\n") + "\n"

    def _blocks(self, parent: Any) -> Iterator[tuple[str, str]]:
        for element in parent:
            if element.tag == word("p"):
                yield from self._paragraph(self._text.Paragraph(element, self._document))
            elif element.tag == word("tbl"):
                self._widths.clear()
                yield "table", self._rows(self._table.Table(element, self._document))
            elif element.tag == word("altChunk"):
                self.left_out["embedded documents of another kind"] += 1

    def _paragraph(self, paragraph: Any) -> Iterator[tuple[str, str]]:
        names = _style_names(paragraph)
        if any(name in CODE_STYLES for name in names):
            yield "code", paragraph.text
            return
        text = self._inline(paragraph._p)
        level = _heading_level(names)
        marker = self._marker(paragraph, names)
        if not text.strip():
            if paragraph._p.find(f"{word('pPr')}/{word('pBdr')}/{word('bottom')}") is not None:
                yield "rule", "---"
            return
        if level:
            if marker is not None and marker[1] != "-":
                self.left_out["numbers of headings"] += 1
            self._widths.clear()
            yield "heading", f"{'#' * level} {text.strip()}"
        elif marker is not None:
            yield self._item(text.strip(), *marker)
        elif self._widths and names[0] in {"List Paragraph", "List Continue"}:
            indent = " " * sum(self._widths)
            yield "more", indent + text.strip().replace("\n", f"\n{indent}")
        elif any(name in {"Quote", "Intense Quote"} for name in names):
            yield "quote", "\n".join(f"> {line}" for line in text.strip().split("\n"))
        else:
            self._widths.clear()
            yield "text", _LINE_START.sub(_unmarked, text.strip())

    # -- lists -----------------------------------------------------------------------------

    def _marker(self, paragraph: Any, names: list[str]) -> tuple[int, str, str] | None:
        """Return level, marker and list of an item, None for another paragraph."""
        found = self._numbering(paragraph)
        if found is None or found[0] == "0":
            return None
        number, level = found
        digits = re.search(r"List (?:Bullet|Number) (\d)$", names[0] if names else "")
        if digits and not level:
            level = int(digits[1]) - 1
        numbers = self._number_format(number, found[1])
        if numbers in {"bullet", "none"}:
            return level, "-", number
        if not numbers.startswith("decimal") and not _heading_level(names):
            self.left_out["letters or Roman numbers of a list, each is 1, 2, 3"] += 1
        for key in [key for key in self._counters if key[0] == number and key[1] > level]:
            del self._counters[key]
        start = self._start(number, level)
        self._counters[number, level] = self._counters.get((number, level), start - 1) + 1
        return level, f"{self._counters[number, level]}.", number

    def _item(self, text: str, level: int, marker: str, number: str) -> tuple[str, str]:
        """Return an item; the first of a list that another does not follow at once is a `list`."""
        is_new = not self._widths or (not level and number != self._list)
        if not level or is_new:
            self._list = number
        del self._widths[level:]
        while len(self._widths) < level:
            self._widths.append(2)
        indent = " " * sum(self._widths)
        self._widths.append(len(marker) + 1)
        for box, words in _BOXES.items():
            text = text.replace(box, words, 1) if text.startswith(box) else text
        inner = " " * (len(marker) + 1)
        text = text.replace("\n", f"\n{indent}{inner}")
        return ("list" if is_new else "item"), f"{indent}{marker} {text}"

    def _numbering(self, paragraph: Any) -> tuple[str, int] | None:
        places = [paragraph._p.find(word("pPr"))]
        style = paragraph.style
        while style is not None:
            places.append(style.element.find(word("pPr")))
            style = style.base_style
        for place in places:
            numbers = place.find(word("numPr")) if place is not None else None
            number = numbers.find(word("numId")) if numbers is not None else None
            if numbers is not None and number is not None:
                level = numbers.find(word("ilvl"))
                depth = int(level.get(word("val"))) if level is not None else 0
                return number.get(word("val")), depth
        return None

    def _definition(self, number: str, level: int) -> tuple[Any, Any]:
        """Return the level's definition and its override, either may be None."""
        try:
            numbering = self._document.part.numbering_part.element
        except (KeyError, NotImplementedError):
            return None, None
        for found in numbering.findall(word("num")):
            if found.get(word("numId")) != number:
                continue
            own = _with(found, "lvlOverride", "ilvl", str(level))
            wanted = found.find(word("abstractNumId")).get(word("val"))
            general = _with(numbering, "abstractNum", "abstractNumId", wanted)
            return (_with(general, "lvl", "ilvl", str(level)), own)
        return None, None

    def _number_format(self, number: str, level: int) -> str:
        definition, _ = self._definition(number, level)
        found = definition.find(word("numFmt")) if definition is not None else None
        return found.get(word("val")) if found is not None else "bullet"

    def _start(self, number: str, level: int) -> int:
        definition, own = self._definition(number, level)
        for place, name in ((own, "startOverride"), (definition, "start")):
            found = place.find(word(name)) if place is not None else None
            if found is not None:
                return int(found.get(word("val")))
        return 1

    # -- text ------------------------------------------------------------------------------

    def _inline(self, parent: Any) -> str:
        """Return a paragraph's text; neighbours that look the same become one."""
        parts: list[tuple[tuple[bool, ...], str, str]] = []
        for look, link, text in self._pieces(parent, ""):
            if parts and parts[-1][:2] == (look, link):
                parts[-1] = (look, link, parts[-1][2] + text)
            elif text:
                parts.append((look, link, text))
        written = [(link, _dressed(text, look)) for look, link, text in parts]
        joined: list[tuple[str, str]] = []
        for link, text in written:
            if joined and link and joined[-1][0] == link:
                joined[-1] = (link, joined[-1][1] + text)
            else:
                joined.append((link, text))
        return "".join(f"[{text}]({link})" if link else text for link, text in joined)

    def _pieces(self, parent: Any, link: str) -> Iterator[tuple[tuple[bool, ...], str, str]]:
        for element in parent:
            if element.tag == word("r"):
                yield self._look(element), link, self._run(element)
            elif element.tag == word("hyperlink"):
                yield from self._pieces(element, self._target(element))
            elif element.tag in _GONE:
                self.left_out["deletions that were tracked"] += 1
            elif element.tag.rpartition("}")[2] in {"oMath", "oMathPara"}:
                self.left_out["equations"] += 1

    def _target(self, element: Any) -> str:
        relation = element.get(f"{{{OFFICE}}}id")
        if relation and relation in self._document.part.rels:
            target = self._document.part.rels[relation].target_ref
            return f"<{target}>" if re.search(r"[\s()]", target) else target
        anchor = element.get(word("anchor"))
        return f"#{anchor}" if anchor else ""

    def _look(self, run: Any) -> tuple[bool, ...]:
        marks = run.find(word("rPr"))
        if marks is None:
            return _PLAIN
        style = marks.find(word("rStyle"))
        font = marks.find(word("rFonts"))
        names = {style.get(word("val")).lower()} if style is not None else set[str]()
        fonts = {font.get(word("ascii"), "").lower()} if font is not None else set[str]()
        is_code = bool(fonts & CODE_FONTS) or any("code" in n or "verbatim" in n for n in names)
        bold, italic, struck = (_is_on(marks, name) for name in ("b", "i", "strike"))
        return bold or "strong" in names, italic or "emphasis" in names, struck, is_code

    def _run(self, run: Any) -> str:
        return "".join(self._part(element) for element in run)

    def _part(self, element: Any) -> str:
        name = element.tag.rpartition("}")[2]
        if name in {"t", "delText"}:
            return element.text or ""
        if name in {"br", "cr"}:
            return "\n" if element.get(word("type")) in {None, "textWrapping"} else ""
        if name == "ruby":  # signs with their reading above them
            return "".join(map(self._run, element.iterfind(f"{word('rubyBase')}/{word('r')}")))
        if name in {"footnoteReference", "endnoteReference"}:
            return self._citation(("e" if name[0] == "e" else "") + element.get(word("id"), ""))
        if name == "sym":
            return self._symbol(element)
        if name == "fldChar":
            return _form_field(element)
        if name == "AlternateContent" and len(element):
            return self._picture(element[0])  # the same again follows, for older programs
        return self._picture(element) if name in _DRAWN else _SIGNS.get(name, "")

    def _symbol(self, element: Any) -> str:
        sign = element.get(word("char"), "").lower()
        is_known = element.get(word("font"), "").lower() == "wingdings"
        if is_known and (known := _SYMBOLS.get(sign[-2:])):
            return known
        self.left_out["signs of fonts such as Symbol, each is a \ufffd"] += 1
        return "\ufffd"

    def _citation(self, number: str) -> str:
        if number not in self._notes:
            return ""
        if number not in self._cited:
            self._cited.append(number)
        return f"\0[^{number}]\0"

    def _picture(self, element: Any) -> str:
        named = next((p for p in element.iter() if p.tag.endswith("}docPr")), None)
        words = (named.get("descr") or "") if named is not None else ""
        blip = next(element.iter(f"{{{DRAWING}}}blip"), None)
        relation = blip.get(f"{{{OFFICE}}}embed") if blip is not None else None
        if relation is None or relation not in self._document.part.rels:
            is_text = next(element.iter(word("txbxContent")), None) is not None
            self.left_out["text boxes, with their words" if is_text else "drawings"] += 1
            return ""
        if self._images is None:
            self.left_out["pictures (give --images FOLDER)"] += 1
            return f"\0![{words}]()\0"
        return f"\0![{words}]({self._saved_picture(relation)})\0"

    def _saved_picture(self, relation: str) -> str:
        assert self._images is not None
        part = self._document.part.rels[relation].target_part
        key = str(part.partname)
        if key not in self._saved:
            self._images.mkdir(parents=True, exist_ok=True)
            place = self._free_place(Path(key).suffix.lower(), part.blob)
            place.write_bytes(part.blob)
            link = _seen_from(self._folder, place)
            self._saved[key] = f"<{link}>" if re.search(r"[\s()]", link) else link
        return self._saved[key]

    def _free_place(self, ending: str, content: bytes) -> Path:
        """Return where a picture goes: those of other documents stay as they are."""
        assert self._images is not None
        for number in itertools.count(len(self._saved) + 1):
            place = self._images / f"picture-{number}{ending}"
            if not os.path.lexists(place) or (place.is_file() and place.read_bytes() == content):
                return place
        raise AssertionError

    # -- tables and the rest ---------------------------------------------------------------

    def _rows(self, table: Any) -> str:
        rows: list[list[str]] = []
        seen: set[Any] = set()
        for row in table.rows:
            cells: list[str] = []
            for cell in row.cells:
                # One that is merged stands in each of its places, of further rows too.
                cells.append("" if cell._tc in seen else self._cell(cell))
                seen.add(cell._tc)
            if not rows and all(re.fullmatch(r"\*\*[^*]+\*\*|", cell) for cell in cells):
                # Markdown shows the header bold by itself.
                cells = [cell.strip("*") for cell in cells]
            rows.append(cells)
        if not rows:
            return ""
        sides = [_side(cell) for cell in table.rows[0].cells]
        # Markdown leaves out what is to the right of the first row's last cell.
        width = max(map(len, rows))
        rows[0] += [""] * (width - len(rows[0]))
        rows.insert(1, sides + ["---"] * (width - len(sides)))
        return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)

    def _cell(self, cell: Any) -> str:
        texts = [text for _, text in self._blocks(cell._tc)]
        self._widths.clear()
        whole = "\n".join(texts).replace("\\\n", "\n")
        return whole.replace("\n", "<br>").replace("|", "\\|")

    def _read_notes(self, kind: str, before: str) -> dict[str, str]:
        found: dict[str, str] = {}
        relations = self._document.part.rels.values()
        part = next((r.target_part for r in relations if r.reltype == f"{OFFICE}/{kind}s"), None)
        if part is None:
            return found
        root = library("docx.oxml", "python-docx").parse_xml(part.blob)
        for note in root.findall(word(kind)):
            if note.get(word("type")) in {None, "normal"}:
                texts = ("".join(t.text or "" for t in p.iter(word("t"))) for p in note)
                found[before + note.get(word("id"))] = " ".join(
                    text.strip() for text in texts if text
                )
        return found

    def _count_left_out(self) -> None:
        relations = self._document.part.rels.values()
        for name in ("header", "footer"):
            parts = (r.target_part for r in relations if r.reltype == f"{OFFICE}/{name}")
            # In a table or a text box too, and those of first pages alone.
            if any(text.strip() for part in parts for text in part.element.itertext(word("t"))):
                self.left_out[f"the page {name}"] += 1
        if any(r.reltype.endswith("/comments") for r in relations):
            self.left_out["comments"] += 1


def _unwrap(body: Any) -> None:
    """Put in the place of what stands around text what it holds."""
    for around in list(body.iter(*map(word, _AROUND))):
        for element in list(around):
            around.addprevious(element)
        around.getparent().remove(around)


def _form_field(element: Any) -> str:
    """Return what was chosen in a field of an older form: its box or list holds no text."""
    data = element.find(word("ffData"))
    box = data.find(word("checkBox")) if data is not None else None
    choices = data.find(word("ddList")) if data is not None else None
    if box is not None:
        names = ("checked", "default")
        found = next((name for name in names if box.find(word(name)) is not None), "")
        return "\u2612" if found and _is_on(box, found) else "\u2610"
    if choices is None:
        return ""
    entries = [entry.get(word("val"), "") for entry in choices.findall(word("listEntry"))]
    result = choices.find(word("result"))
    chosen = int(result.get(word("val"), "0")) if result is not None else 0
    return entries[chosen] if chosen < len(entries) else ""


def _seen_from(folder: Path, place: Path) -> str:
    try:
        return Path(os.path.relpath(place, folder)).as_posix()
    except ValueError:  # on another drive
        return place.resolve().as_posix()


def _with(parent: Any, name: str, attribute: str, value: str) -> Any:
    for element in parent.findall(word(name)) if parent is not None else ():
        if element.get(word(attribute)) == value:
            return element
    return None


def _style_names(paragraph: Any) -> list[str]:
    names: list[str] = []
    style = paragraph.style
    while style is not None and len(names) < 20:
        names.append(style.name or "")
        style = style.base_style
    return names


def _heading_level(names: list[str]) -> int:
    for name in names:
        if name == "Title":
            return 1
        if found := re.fullmatch(r"[Hh]eading (\d)", name):
            return min(int(found[1]), 6)
    return 0


def _is_on(marks: Any, name: str) -> bool:
    found = marks.find(word(name))
    return found is not None and found.get(word("val")) not in {"0", "false", "none"}


def _dressed(text: str, look: tuple[bool, ...]) -> str:
    """Return a run with its marks; blanks at its ends stay outside them."""
    bold, italic, struck, is_code = look
    core = text.strip(" ")
    if not core:
        return text
    left, right = text[: len(text) - len(text.lstrip(" "))], text[len(text.rstrip(" ")) :]
    if is_code and "\0" not in core:
        ticks = "``" if "`" in core else "`"
        core = f"{ticks}{core}{ticks}"
    else:
        core = _escaped(core)
    for is_marked, mark in ((struck, "~~"), (italic, "*"), (bold, "**")):
        core = f"{mark}{core}{mark}" if is_marked else core
    return f"{left}{core}{right}"


def _side(cell: Any) -> str:
    side = cell.paragraphs[0].alignment if cell.paragraphs else None
    return {"CENTER": ":-:", "RIGHT": "--:"}.get(side.name if side is not None else "", "---")


def _unmarked(found: re.Match[str]) -> str:
    return f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}"


def _escaped(text: str) -> str:
    """Escape what Markdown would take for marks; what stands between NULs is Markdown already."""
    parts = text.split("\0")
    plain = [_SPECIAL.sub(r"\\\1", part).replace("\n", "\\\n") for part in parts[::2]]
    ready = parts[1::2]
    return "".join(p + (ready[at] if at < len(ready) else "") for at, p in enumerate(plain))
