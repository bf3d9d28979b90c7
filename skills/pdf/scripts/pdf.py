"""Read PDF files, take them apart and put them together."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

# Nothing is written beside this file: it may belong to an installed program.
sys.dont_write_bytecode = True

from pdf_files import (  # noqa: E402
    EXIT_CODES,
    add_options,
    count_filled,
    numbers,
    open_pdf,
    pypdf,
    run,
    save,
    tell,
    tell_lost,
)


def show_info(args: argparse.Namespace) -> None:
    """Say what kind of PDF it is."""
    reader = open_pdf(args.file, args.password)
    told = reader.metadata or {}
    empty = [n for n, page in enumerate(reader.pages, 1) if not page.extract_text().strip()]
    first = reader.pages[0].mediabox if reader.pages else None
    fields = reader.get_fields() or {}
    facts = {
        "pages": len(reader.pages),
        "size of page 1 in mm": f"{_mm(first.width)} x {_mm(first.height)}" if first else "",
        "title": told.get("/Title"),
        "author": told.get("/Author"),
        "made with": told.get("/Creator") or told.get("/Producer"),
        "encrypted": "yes" if reader.is_encrypted else "no",
        "form fields": len(fields),
        "pages without text": _ranges(empty) or "none",
    }
    for name, value in facts.items():
        if value not in (None, ""):
            print(f"{name}: {value}")


def show_text(args: argparse.Namespace) -> None:
    """Print the text, page by page."""
    reader = open_pdf(args.file, args.password)
    count = len(reader.pages)
    chosen = numbers(args.pages, count) if args.pages else list(range(count))
    parts: list[str] = []
    empty: list[int] = []
    for index in chosen:
        page = reader.pages[index]
        text = page.extract_text(extraction_mode="layout") if args.layout else page.extract_text()
        if not text.strip():
            empty.append(index + 1)
        parts.append(f"--- page {index + 1} of {count} ---\n{text.rstrip()}\n")
    whole = "\n".join(parts)
    if args.out:
        save(args.out, args.force, lambda place: place.write_text(whole, encoding="utf-8"))
    else:
        print(whole)
    if empty:
        tell(f"Without text (probably scanned pictures): page {_ranges(sorted(empty))}.")
    if count_filled(reader):
        tell("Not in this text: what was filled into the form. `form.py fields` lists it.")


def _mm(points: float) -> int:
    return round(float(points) * 25.4 / 72)


def _ranges(pages: list[int]) -> str:
    """Return `1-3, 7` for 1, 2, 3, 7."""
    parts: list[list[int]] = []
    for page in pages:
        if parts and parts[-1][-1] == page - 1:
            parts[-1].append(page)
        else:
            parts.append([page])
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def merge(args: argparse.Namespace) -> None:
    """Put files, or pages of files, behind one another."""
    writer = pypdf().PdfWriter()
    readers: dict[str, Any] = {}
    for word in args.inputs:
        match = re.fullmatch(r"(.+?)\[([^\[\]]+)\]", word)
        is_plain = match is None or Path(word).exists()
        path, wanted = (word, "") if is_plain or match is None else (match[1], match[2])
        reader = readers[path] = open_pdf(path, args.password)
        indexes = numbers(wanted, len(reader.pages)) if wanted else None
        writer.append(reader, outline_item=Path(path).stem, pages=indexes)
    save(args.out, args.force, writer.write)
    tell(f"{args.out}: {len(writer.pages)} pages out of {len(args.inputs)} files.")
    tell_lost(list(readers.items()), writer, args.out)


def split(args: argparse.Namespace) -> None:
    """Write a file for each page, each so many pages, or each of some ranges."""
    reader = open_pdf(args.file, args.password)
    count = len(reader.pages)
    if args.ranges:
        groups = [(part, numbers(part, count)) for part in args.ranges.split(",")]
    else:
        starts = range(0, count, args.every)
        groups = [("", list(range(at, min(at + args.every, count)))) for at in starts]
    folder = Path(args.into)
    folder.mkdir(parents=True, exist_ok=True)
    width = len(str(count))
    writer = pypdf().PdfWriter()
    for _, indexes in groups:
        first, last = indexes[0] + 1, indexes[-1] + 1
        name = f"{first:0{width}}" if first == last else f"{first:0{width}}-{last:0{width}}"
        target = folder / f"{Path(args.file).stem}-{name}.pdf"
        writer = _with_pages(reader, indexes)
        save(str(target), args.force, writer.write)
        print(target)
    tell_lost([(args.file, reader)], writer, f"what is in {args.into}")


def pick(args: argparse.Namespace) -> None:
    """Write some pages, in the order given."""
    reader = open_pdf(args.file, args.password)
    writer = _with_pages(reader, numbers(args.pages, len(reader.pages)))
    save(args.out, args.force, writer.write)
    tell(f"{args.out}: {len(writer.pages)} pages.")
    tell_lost([(args.file, reader)], writer, args.out)


def rotate(args: argparse.Namespace) -> None:
    """Turn pages clockwise."""
    reader = open_pdf(args.file, args.password)
    writer = pypdf().PdfWriter(clone_from=reader)
    count = len(writer.pages)
    chosen = sorted(set(numbers(args.pages, count))) if args.pages else list(range(count))
    for index in chosen:
        writer.pages[index].rotate(args.by)
    save(args.out, args.force, writer.write)
    tell(f"{args.out}: {len(chosen)} of {count} pages turned by {args.by} degrees.")
    tell_lost([(args.file, reader)], writer, args.out)


def _with_pages(reader: Any, indexes: list[int]) -> Any:
    writer = pypdf().PdfWriter()
    for index in indexes:
        writer.add_page(reader.pages[index])
    return writer


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = argparse.ArgumentParser(
        description=__doc__, epilog=EXIT_CODES, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    table = (
        ("info", show_info, ["file", "--password"]),
        ("text", show_text, ["file", "--pages", "--password", "--force"]),
        ("merge", merge, ["out", "--password", "--force"]),
        ("split", split, ["file", "--password", "--force"]),
        ("pick", pick, ["file", "out", "--pages!", "--password", "--force"]),
        ("rotate", rotate, ["file", "out", "--pages", "--password", "--force"]),
    )
    made_of: dict[str, argparse.ArgumentParser] = {}
    for name, work, options in table:
        made_of[name] = commands.add_parser(name, help=work.__doc__, description=work.__doc__)
        add_options(made_of[name], options)
        made_of[name].set_defaults(run=work)
    made_of["text"].add_argument("--layout", action="store_true", help="keep columns and gaps")
    made_of["text"].add_argument("--out", default="", help="write the text to this file")
    made_of["merge"].add_argument(
        "inputs", nargs="+", help='PDFs, or pages of them: "report.pdf[1-3,7]"'
    )
    made_of["split"].add_argument("--into", required=True, help="the folder for the files")
    made_of["split"].add_argument("--every", type=_positive, default=1, help="so many pages each")
    made_of["split"].add_argument("--ranges", default="", help="a file for each: 1-3,4-9")
    made_of["rotate"].add_argument(
        "--by", type=int, choices=(90, 180, 270), default=90, help="degrees, clockwise"
    )
    return made


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(run(parser()))
