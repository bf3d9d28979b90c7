"""Turn Word documents (.docx) into Markdown and Markdown into Word documents."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

# Nothing is written beside this file: it may belong to an installed program.
sys.dont_write_bytecode = True

from files import Trouble, library, open_document, save, storable, tell  # noqa: E402
from from_markdown import Writer  # noqa: E402
from to_markdown import Converter  # noqa: E402

_EXIT_CODES = (
    "Exit codes: 0 done, 1 not possible (the reason is on standard error), 2 wrong arguments,\n"
    "3 a Python package is missing."
)

_LONGEST_TITLE = 255  # of a document's properties


def to_markdown(args: argparse.Namespace) -> None:
    """Write a Word document as Markdown; to standard output without OUT."""
    if args.out and Path(args.out).exists() and not args.force:
        raise Trouble(f"{args.out} is there already. Choose another name, or add --force.")
    images, folder = Path(args.images) if args.images else None, Path(args.out).parent
    converter = Converter(open_document(args.file), images, folder)
    text = converter.convert()
    if args.out:
        save(args.out, args.force, lambda at: Path(at).write_text(text, encoding="utf-8"))
    else:
        print(text, end="")
    _tell_left_out(converter.left_out)


def from_markdown(args: argparse.Namespace) -> None:
    """Write Markdown as a Word document, with the looks of a template if one is given."""
    file = Path(args.file)
    if not file.is_file():
        raise Trouble(f"There is no file {args.file}.")
    if Path(args.out).suffix.lower() != ".docx":
        raise Trouble("The file to write must end in .docx.")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Trouble(f"{args.file} is not UTF-8 text.") from None
    docx = library("docx", "python-docx")
    document = open_document(args.template) if args.template else docx.Document()
    if args.template:
        _empty(document)
    writer = Writer(document, file.parent)
    try:
        writer.write(text)
    except NotImplementedError:
        raise Trouble(
            f"{args.template} knows no lists. Open it, make a list, delete it again, and save."
        ) from None
    document.core_properties.title = storable(args.title or file.stem)[:_LONGEST_TITLE]
    save(args.out, args.force, document.save)
    _tell_left_out(writer.left_out)


def _empty(document: Any) -> None:
    """Take the text out of a template; page size, headers and styles stay."""
    body = document.element.body
    for element in list(body):
        if not element.tag.endswith("}sectPr"):
            body.remove(element)


def _tell_left_out(counts: dict[str, int]) -> None:
    for name, count in counts.items():
        tell(f"Left out: {name} ({count})." if count > 1 else f"Left out: {name}.")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = argparse.ArgumentParser(
        description=__doc__, epilog=_EXIT_CODES, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    to = commands.add_parser(
        "to-markdown", help=to_markdown.__doc__, description=to_markdown.__doc__
    )
    to.add_argument("file", help="the .docx")
    to.add_argument("out", nargs="?", default="", help="the .md to write")
    to.add_argument("--images", default="", help="a folder for the pictures")
    to.set_defaults(run=to_markdown)
    back = commands.add_parser(
        "from-markdown", help=from_markdown.__doc__, description=from_markdown.__doc__
    )
    back.add_argument("file", help="the .md")
    back.add_argument("out", help="the .docx to write")
    back.add_argument("--template", default="", help="a .docx whose looks are taken")
    back.add_argument("--title", default="", help="in the document's properties")
    back.set_defaults(run=from_markdown)
    for command in (to, back):
        command.add_argument("--force", action="store_true", help="replace a file that is there")
    return made


def end_quietly() -> int:
    """Whoever reads the output has seen enough: `head`, for instance."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def main() -> int:
    """Run the command that was asked for; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A pipe on Windows has an old code page.
        getattr(stream, "reconfigure")(encoding="utf-8", errors="replace")  # noqa: B009
    args = parser().parse_args()
    try:
        args.run(args)
        sys.stdout.flush()
    except Trouble as trouble:
        tell(str(trouble))
        return trouble.code
    except BrokenPipeError:
        return end_quietly()
    except OSError as error:
        tell(f"{error.filename or 'A file'}: {error.strerror or error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
