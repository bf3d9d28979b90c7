"""Text as files hold it: its encoding, byte-order mark and line ends, kept when it is changed."""

from __future__ import annotations

import codecs
import contextlib
import re

import msgspec

from desktop_agent.core.tool import ToolError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT = 8192
# What Python makes of bytes that are not UTF-8, so that they can be written back.
_TORN = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
# The euro, dashes and quotation marks of Windows' programs; nothing in Latin-1.
_OF_WINDOWS = re.compile(rb"[\x80-\x9f]")
# Those that text does not hold.
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))


class Text(msgspec.Struct, frozen=True):
    """The text of a file, and what is needed to write it back as it was."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    is_torn: bool = False

    @property
    def shown(self) -> str:
        """The text without what is no character in it."""
        return _TORN.sub("\ufffd", self.text) if self.is_torn else self.text

    @property
    def has_crlf(self) -> bool:
        """Whether every line ends with CR LF."""
        return "\r\n" in self.text and self.text.count("\n") == self.text.count("\r\n")

    def encoded(self, text: str) -> bytes:
        """Return the bytes of `text` in this file's encoding; raises ToolError."""
        errors = "surrogateescape" if self.is_torn else "strict"
        try:
            return self.mark + text.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            bad = text[error.start : error.start + 1]
            raise ToolError(
                f"the file is {self.encoding}, which can't hold {bad!a}; nothing was changed."
            ) from None


def decode(content: bytes) -> Text | None:
    """Return the text in these bytes, or None when they are not text."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            try:
                return Text(content[len(mark) :].decode(encoding), encoding, mark)
            except UnicodeDecodeError:
                if encoding != "utf-8":
                    return None
                torn = content[len(mark) :].decode(encoding, "surrogateescape")
                return Text(torn, encoding, mark, is_torn=True)
    if is_binary(content):
        return None
    return decode_plain(content)


def decode_plain(content: bytes) -> Text:
    """Return these bytes, which have no mark, as text in any case."""
    try:
        return Text(content.decode("utf-8"))
    except UnicodeDecodeError:
        torn = content.decode("utf-8", "surrogateescape")
        bad = len(_TORN.findall(torn))
        if len(_BEYOND_ASCII.findall(torn)) - bad > bad:
            return Text(torn, is_torn=True)
    if _OF_WINDOWS.search(content):
        with contextlib.suppress(UnicodeDecodeError):
            return Text(content.decode("cp1252"), "cp1252")
    # Every byte is a character there, so it is written back unchanged.
    return Text(content.decode("latin-1"), "latin-1")


def wide_encoding(start: bytes) -> str:
    """Return the encoding, which takes its mark, of characters of several bytes; or nothing."""
    found = (encoding for mark, encoding in _MARKS if start.startswith(mark))
    return next(found, "utf-8").removesuffix("-le").removesuffix("-be").replace("utf-8", "")


def is_binary(content: bytes) -> bool:
    """Whether bytes without a byte-order mark look like no text: NULs or many control bytes."""
    start = content[:_LOOKED_AT]
    if b"\0" in start:
        return True
    plain = start.translate(None, _CONTROL)
    return (len(start) - len(plain)) * 20 > len(start)


def encode_new(text: str, old: bytes = b"") -> bytes:
    """Return the bytes of text from a model, which is not shown how a file is kept.

    Where it replaces a text, that one's encoding, mark and CR LF are kept, unless it has line ends
    or a mark of its own. What is new, or has characters beyond that encoding, is UTF-8. Raises
    ToolError.
    """
    before = (decode(old) if old else None) or Text("")
    if before.has_crlf and "\r" not in text:
        text = text.replace("\n", "\r\n")
    if not text.startswith("\ufeff"):
        try:
            return before.mark + text.encode(before.encoding)
        except UnicodeEncodeError:
            pass
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolError("the content holds half a character (a lone surrogate).") from None


def lines_of(text: str) -> list[str]:
    """Split at line feeds alone, keeping them: what editors and `grep -n` count."""
    lines = text.split("\n")
    kept = [line + "\n" for line in lines[:-1]]
    return kept + lines[-1:] if lines[-1] else kept
