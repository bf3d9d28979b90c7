"""What both directions share: opening and saving files, and failing in a sentence."""

from __future__ import annotations

import importlib
import io
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
# The first is made when it is needed; others are found in documents of other programs.
CODE_STYLES = ("Code", "HTML Preformatted", "Source Code", "Preformatted Text", "Plain Text")
CODE_FONTS = {"consolas", "courier", "courier new", "menlo", "monaco", "source code pro"}

_TYPES, _MAIN, _TEMPLATE = "[Content_Types].xml", b"ml.document.main+xml", b"ml.template.main+xml"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Trouble(Exception):
    """What could not be done, in a sentence."""

    def __init__(self, words: str, code: int = 1) -> None:
        super().__init__(words)
        self.code = code


def library(module: str, package: str) -> Any:
    """Return a library, asked for late: --help works without it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        words = f"This needs the Python package {package}: {sys.executable} -m pip install "
        raise Trouble(words + package, 3) from None


def open_document(path: str) -> Any:
    """Return a Word document."""
    file = Path(path)
    if not file.is_file():
        raise Trouble(f"There is no file {path}.")
    if file.suffix.lower() in {".doc", ".odt", ".rtf", ".pages"}:
        raise Trouble(f"{path} is not a .docx file. Save it as .docx first.")
    if not zipfile.is_zipfile(file):
        raise Trouble(f"{path} is not a .docx file, or it is encrypted with a password.")
    docx = library("docx", "python-docx")
    try:
        with zipfile.ZipFile(file) as parts:
            if b"//purl.oclc.org/ooxml/" in parts.read("_rels/.rels"):
                raise Trouble(f"{path} is a Strict Open XML file. Save it as a plain .docx first.")
            types = parts.read(_TYPES)
            if b".macroEnabled" in types:
                raise Trouble(f"{path} has macros. Save it as a plain .docx first.")
            return docx.Document(_document(parts, types) if _TEMPLATE in types else str(file))
    except (KeyError, ValueError, SyntaxError, zlib.error, zipfile.BadZipFile) as error:
        raise Trouble(f"{path} is damaged, or not a .docx file: {error}") from None


def _document(parts: zipfile.ZipFile, types: bytes) -> io.BytesIO:
    """Return a template (.dotx) as a document, which is all that the library opens."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name in dict.fromkeys(parts.namelist()):
            is_types = name == _TYPES
            made.writestr(name, types.replace(_TEMPLATE, _MAIN) if is_types else parts.read(name))
    return out


def word(name: str) -> str:
    """Return the full name of an XML element of Word's."""
    return f"{{{WORD}}}{name}"


def storable(text: str) -> str:
    """Return a text without the control characters that a document can't hold, and nothing else.

    What is not seen may count: a space that does not break, a joiner within a word or a sign.
    """
    return _NO_XML.sub("", text)


def save(name: str, is_forced: bool, write: Callable[[str], Any]) -> None:
    """Write a file whole or not at all; one that is there is only replaced with --force."""
    target = Path(name)
    if target.exists() and not is_forced:
        raise Trouble(f"{name} is there already. Choose another name, or add --force.")
    if not target.parent.is_dir():
        raise Trouble(f"There is no folder {target.parent}.")
    # The same ending: libraries go by it.
    temporary = target.with_name(f".part-{os.urandom(6).hex()}{target.suffix}")
    try:
        write(str(temporary))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def tell(words: str) -> None:
    """Say something beside the result."""
    print(words, file=sys.stderr)
