"""What both scripts need: opening, naming pages, writing safely, and failing in a sentence."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PAGES = "pages such as 3, 1-4, 6- (to the end), last, or several: 1-3,7"
EXIT_CODES = (
    "Exit codes: 0 done, 1 not possible (the reason is on standard error), 2 wrong arguments,\n"
    "3 a Python package is missing."
)

# What the library also raises for a file that is not whole.
_DAMAGED = (ValueError, TypeError, AttributeError, LookupError, RecursionError)


class Trouble(Exception):
    """What could not be done, in a sentence."""

    def __init__(self, words: str, code: int = 1) -> None:
        super().__init__(words)
        self.code = code


def pypdf() -> Any:
    """Return the library, asked for late: --help works without it."""
    try:
        import pypdf as library
    except ImportError:
        words = f"This needs the Python package pypdf: {sys.executable} -m pip install pypdf"
        raise Trouble(words, 3) from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    return library


def open_pdf(path: str, password: str) -> Any:
    """Return a reader of a file that is there, whole and unlocked."""
    file = Path(path)
    if not file.is_file():
        raise Trouble(f"There is no file {path}.")
    with file.open("rb") as opened:
        if b"%PDF-" not in opened.read(1024):
            raise Trouble(f"{path} is not a PDF.")
    reader = pypdf().PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(password):
        if password:
            raise Trouble(f"The password does not open {path}.")
        raise Trouble(f"{path} needs a password: ask for it and give it with --password.")
    return reader


def count_filled(reader: Any) -> int:
    """Return how many fields of its form hold something."""
    with contextlib.suppress(pypdf().errors.PyPdfError, *_DAMAGED):
        fields = (reader.get_fields() or {}).values()
        return sum(1 for field in fields if field.get("/V") not in (None, "", "/Off"))
    return 0


def numbers(text: str, count: int) -> list[int]:
    """Return the indexes (from 0) that a text names, in its order."""
    found: list[int] = []
    for part in text.replace(" ", "").split(","):
        match = re.fullmatch(r"(\d+|last)?(-)?(\d+|last)?", part)
        if not match or not part or part == "-":
            raise Trouble(f"{part!r} names no page. Give {PAGES}.")
        first = _number(match[1] or "1", count)
        end = _number(match[3] or "last", count) if match[2] else first
        found += range(first - 1, end) if first <= end else range(first - 1, end - 2, -1)
    return found


def _number(word: str, count: int) -> int:
    number = count if word == "last" else int(word)
    if not 1 <= number <= count:
        raise Trouble(f"There is no page {number}: the file has {count}.")
    return number


def save(name: str, is_forced: bool, write: Callable[[Any], Any]) -> None:
    """Write a file whole or not at all; one that is there is only replaced with --force."""
    target = Path(name)
    if target.exists() and not is_forced:
        raise Trouble(f"{name} is there already. Choose another name, or add --force.")
    if not target.parent.is_dir():
        raise Trouble(f"There is no folder {target.parent}.")
    # The same ending: libraries go by it.
    temporary = target.with_name(f".part-{os.urandom(6).hex()}{target.suffix}")
    try:
        write(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def tell_lost(inputs: Sequence[tuple[str, Any]], writer: Any, out: str) -> None:
    """Say what the files had that the one made of them has not: its pages do not show that."""
    with contextlib.suppress(pypdf().errors.PyPdfError, *_DAMAGED):
        attached, fields = set(writer.attachments), set(writer.get_fields() or {})
        seen: set[str] = set()
        twice: dict[str, None] = {}
        for path, reader in inputs:
            own = reader.get_fields() or {}
            if reader.is_encrypted:
                tell(f"{path} is protected by a password; {out} is not: anyone can open it.")
            if names := [name for name in reader.attachments if name not in attached]:
                tell(f"Left out: files that are attached to {path} ({', '.join(names)}).")
            if lost := own.keys() - fields:
                tell(
                    f"Left out: {len(lost)} form fields of {path}. They look the same and are dead."
                )
            if any(field.get("/FT") == "/Sig" and field.get("/V") for field in own.values()):
                tell(f"{path} is signed; the signature does not hold for {out}.")
            twice |= dict.fromkeys(name for name in own if name in seen & fields)
            seen |= own.keys()
        if twice:
            tell(
                f"Form fields of the same name are one field now: {', '.join(twice)}. Programs may "
                "show one value in all their places; the files by themselves are right."
            )


def tell(words: str) -> None:
    """Say something beside the result."""
    print(words, file=sys.stderr)


def add_options(command: argparse.ArgumentParser, names: list[str]) -> None:
    """Add options that several commands share; `!` behind a name makes it required."""
    for name in names:
        plain = name.rstrip("!")
        options = dict(_OPTIONS[plain])
        if name.endswith("!"):
            options["required"] = True
        command.add_argument(plain, **options)


_OPTIONS: dict[str, dict[str, Any]] = {
    "file": {"help": "the PDF"},
    "out": {"help": "the PDF to write"},
    "--pages": {"default": "", "help": PAGES},
    "--password": {"default": "", "help": "of an encrypted PDF"},
    "--force": {"action": "store_true", "help": "replace a file that is there"},
}


def end_quietly() -> int:
    """Whoever reads the output has seen enough: `head`, for instance."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def run(parser: argparse.ArgumentParser) -> int:
    """Run the command that was asked for; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A pipe on Windows has an old code page.
        getattr(stream, "reconfigure")(encoding="utf-8", errors="replace")  # noqa: B009
    args = parser.parse_args()
    try:
        errors = pypdf().errors
        try:
            args.run(args)
            sys.stdout.flush()
        except errors.DependencyError:
            words = f"This file needs more: {sys.executable} -m pip install pypdf[crypto]"
            raise Trouble(words, 3) from None
        except (errors.PyPdfError, *_DAMAGED) as error:
            raise Trouble(f"The PDF is damaged, or of an unknown kind: {error}") from None
        except BrokenPipeError:
            return end_quietly()
        except OSError as error:
            raise Trouble(f"{error.filename or 'A file'}: {error.strerror or error}") from None
    except Trouble as trouble:
        tell(str(trouble))
        return trouble.code
    return 0
