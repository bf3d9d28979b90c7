"""Which characters the bytes of a page are, found as browsers find it."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Only there a page's own word counts, in browsers too.
_LOOKED_AT = 1024
_IN_PAGE = re.compile(
    rb"""<meta\s[^<>]*?charset\s*=\s*["']?([\w.:-]+)|^\s*<\?xml\s[^<>]*?encoding\s*=\s*["']([\w.:-]+)""",
    re.IGNORECASE,
)
# Names that stand for a larger set on the web than in Python.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
}


def text_of(content: bytes, said: str, kind: str) -> str:
    """Return the text of a page of this type, `said` being what the server calls its encoding."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    for name in (said, _said_in_page(content, kind)):
        try:
            if name:
                found = codecs.lookup(name).name
                return content.decode(_WIDER.get(found, found), "replace")
        except (LookupError, ValueError):  # no encoding of text
            continue
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        # A page that was cut may end within a character.
        is_at_end = error.start > len(content) - 4
        return content.decode("utf-8" if is_at_end else "cp1252", "replace")


def _said_in_page(content: bytes, kind: str) -> str:
    if not kind.endswith(("html", "xml")):
        return ""
    found = _IN_PAGE.search(content[:_LOOKED_AT])
    name = (found[1] or found[2]).decode("ascii", "ignore") if found else ""
    # Whoever could read this word did not read UTF-16.
    return "utf-8" if name.casefold().startswith("utf-16") else name
