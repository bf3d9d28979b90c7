"""Begin a new skill, or check one against the Agent Skills standard.

Exit codes: 0 fine, 1 not valid or not possible (the reasons are printed), 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAME_LENGTH, DESCRIPTION_LENGTH, COMPATIBILITY_LENGTH = 64, 1024, 500
_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_LONGEST_BODY, _LONGEST_TOKENS = 500, 5_000
_SHORTEST_DESCRIPTION = 40
_MOST_FILES, _MOST_BYTES = 2_000, 20_000_000
_LEFT_OUT = {".git", "__pycache__", "node_modules", ".DS_Store"}
_FOLDERS = ("scripts", "references", "assets")
_KEY = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?$")
_LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
_PATH = re.compile(rf"(?<![\w./-])((?:{'|'.join(_FOLDERS)})/[\w./-]*[\w-])")
_ABSOLUTE = re.compile(r"(?<![\w:/.])(/(?:home|Users|root|tmp)/\S+|[A-Za-z]:\\\S+)")
_WHEN = re.compile(r"\b(use|when|whenever|for|if)\b", re.IGNORECASE)

_SKELETON = """\
---
name: {name}
description: {description}
---

# {title}

Say in a sentence or two what this is for and what the result looks like.

## How to work

1. What to look at first.
2. What to do, step by step, and why where it is not plain.
3. How to check the result before it is handed over.

## What does not work

- Say honestly where this ends, and what to tell the person then.
"""


@dataclass
class Report:
    """What is wrong (`errors`) and what could be better (`advice`)."""

    errors: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)


def check(folder: Path) -> Report:
    """Return what the standard and experience say of a skill's folder."""
    report = Report()
    if not folder.is_dir():
        report.errors.append(f"There is no folder {folder}.")
        return report
    main = next((folder / n for n in ("SKILL.md", "skill.md") if (folder / n).is_file()), None)
    if main is None:
        report.errors.append("There is no SKILL.md in the folder.")
        return report
    try:
        text = main.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        report.errors.append("SKILL.md is not UTF-8 text.")
        return report
    head, body, problem = _split(text.replace("\r\n", "\n"))
    if problem:
        report.errors.append(problem)
        return report
    fields = _fields(head, report)
    report.errors += _field_errors(fields, folder.resolve().name)
    report.advice += _field_advice(fields)
    report.advice += _body_advice(body, folder)
    report.advice += _file_advice(folder, text)
    return report


def _split(text: str) -> tuple[str, str, str]:
    """Return the head between the dashes, the rest, and what is wrong with them."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return "", "", "SKILL.md must begin with a line of three dashes."
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]).strip(), ""
    return "", "", "The front matter does not end: a second line of three dashes is missing."


def _fields(head: str, report: Report) -> dict[str, str]:
    """Read `key: value` lines; `metadata` may hold such lines, indented. Not all of YAML."""
    found: dict[str, str] = {}
    key = ""
    for number, line in enumerate(head.split("\n"), 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _KEY.match(line)
        if match and match[1] in found:
            report.errors.append(f"Line {number}: the field {match[1]} stands there twice.")
        if match:
            key = match[1]
            found[key] = _value(match[2] or "", number, report)
        elif line[0] in " \t" and key:
            # A block behind `|` or `>`, a longer value, or the entries of `metadata`.
            found[key] = f"{found[key]} {line.strip()}".strip()
        else:
            report.errors.append(f"Line {number} is not of the form `key: value`.")
    return {name: value.lstrip("|>-+").strip() for name, value in found.items()}


def _value(raw: str, number: int, report: Report) -> str:
    text = raw.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if re.search(r":(\s|$)", text) or " #" in text or text[:1] in tuple("&*!%@`{["):
        report.errors.append(
            f'Line {number}: put the value in "quotes"; as it stands YAML reads it differently.'
        )
    return text


def _field_errors(fields: dict[str, str], directory: str) -> Iterator[str]:
    extra = [name for name in fields if name not in _FIELDS]
    if extra:
        yield f"The standard has no field {', '.join(extra)}. Put your own below `metadata`."
    name = unicodedata.normalize("NFKC", fields.get("name", ""))
    if not name:
        yield "The name is missing."
    else:
        yield from _name_errors(name, unicodedata.normalize("NFKC", directory))
    description = fields.get("description", "")
    if not description:
        yield "The description is missing."
    if len(description) > DESCRIPTION_LENGTH:
        count = len(description)
        yield f"The description has {count} characters; {DESCRIPTION_LENGTH} is the limit."
    if len(fields.get("compatibility", "")) > COMPATIBILITY_LENGTH:
        yield f"The compatibility has more than {COMPATIBILITY_LENGTH} characters."


def _name_errors(name: str, directory: str) -> Iterator[str]:
    if len(name) > NAME_LENGTH:
        yield f"The name has {len(name)} characters; {NAME_LENGTH} is the limit."
    if name != name.lower():
        yield "The name must be in small letters."
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield "The name must not begin or end with a hyphen, or have two in a row."
    if not all(letter.isalnum() or letter == "-" for letter in name):
        yield "The name may have letters, digits and hyphens only."
    if name != directory:
        yield f"The name {name!r} must be that of the folder, {directory!r}."


def _field_advice(fields: dict[str, str]) -> Iterator[str]:
    description = fields.get("description", "")
    if description and len(description) < _SHORTEST_DESCRIPTION:
        yield "The description is very short: it is all that an agent sees before it decides."
    elif description and not _WHEN.search(description):
        yield "The description does not say when to use the skill."


def _body_advice(body: str, folder: Path) -> Iterator[str]:
    if not body:
        yield "There is no text under the front matter."
    lines, tokens = body.count("\n") + 1, len(body) // 4
    if lines > _LONGEST_BODY or tokens > _LONGEST_TOKENS:
        yield (
            f"The text has {lines} lines (about {tokens} tokens), all of which is read at once. "
            "Move what is not always needed into references/."
        )
    named = {match[1] for match in _LINK.finditer(body) if "://" not in match[1]}
    named |= {match[1] for match in _PATH.finditer(body)}
    for name in sorted(named):
        place = (folder / name).resolve()
        if not place.is_relative_to(folder.resolve()):
            yield f"{name} leads out of the skill's folder."
        elif not place.exists():
            yield f"The text names {name}, which is not there."
    for match in _ABSOLUTE.finditer(body):
        yield f"{match[1]} exists on this computer only. Name files below the skill's folder."
    if any(unicodedata.category(letter) == "Cf" for letter in body):
        yield "The text has invisible characters: an agent reads what a person does not see."


def _file_advice(folder: Path, text: str) -> Iterator[str]:
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if (path.is_symlink() or not path.is_dir())
        and not _LEFT_OUT & set(path.relative_to(folder).parts)
    ]
    links = [path for path in files if path.is_symlink()]
    yield from (f"{path.name} is a link, which is left out at an installation." for path in links)
    size = sum(path.stat().st_size for path in files if path.is_file())
    if len(files) > _MOST_FILES or size > _MOST_BYTES:
        yield f"It has {len(files)} files and {size // 1_000_000} MB: too much to be installed."
    told = text + "".join(_text_of(path) for path in files if path.suffix in {".md", ".py", ".sh"})
    for path in files:
        name = path.relative_to(folder)
        is_told = name.as_posix() in text or path.name in told or path.stem in told
        if name.parts[0] in _FOLDERS and not is_told:
            yield f"{name.as_posix()} is named nowhere, so no agent will open it."


def _text_of(path: Path) -> str:
    return path.read_bytes()[:200_000].decode("utf-8", "replace") if path.is_file() else ""


def run_check(args: argparse.Namespace) -> int:
    """Hold skills against the standard, and say what could be better."""
    worst = 0
    for name in args.folders:
        report = check(Path(name))
        for words in report.errors:
            print(f"{name}: error: {words}")
        for words in report.advice:
            print(f"{name}: advice: {words}")
        is_bad = bool(report.errors) or (args.strict and bool(report.advice))
        worst = max(worst, int(is_bad))
        if not report.errors:
            print(f"{name}: valid")
    return worst


def run_new(args: argparse.Namespace) -> int:
    """Make the folder of a new skill with a SKILL.md to fill in."""
    errors = list(_name_errors(args.name, args.name))
    folder = Path(args.into) / args.name
    if not errors and folder.exists():
        errors.append(f"{folder} is there already.")
    if not errors and not 0 < len(args.description) <= DESCRIPTION_LENGTH:
        errors.append(f"The description must have 1 to {DESCRIPTION_LENGTH} characters.")
    if errors:
        print("\n".join(errors), file=sys.stderr)
        return 1
    quoted = args.description.replace("\\", "").replace('"', "'").replace("\n", " ")
    title = args.name.replace("-", " ").capitalize()
    text = _SKELETON.format(name=args.name, description=f'"{quoted}"', title=title)
    try:
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    print(folder / "SKILL.md")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    checked = commands.add_parser("check", help=run_check.__doc__, description=run_check.__doc__)
    checked.add_argument("folders", nargs="+", help="folders with a SKILL.md")
    checked.add_argument("--strict", action="store_true", help="advice counts as an error")
    checked.set_defaults(run=run_check)
    new = commands.add_parser("new", help=run_new.__doc__, description=run_new.__doc__)
    new.add_argument("name", help="small letters, digits and hyphens")
    new.add_argument("--description", required=True, help="what it does and when to use it")
    new.add_argument("--into", default=".agents/skills", help="the folder for it (%(default)s)")
    new.set_defaults(run=run_new)
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
        code = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        return end_quietly()
    return code


if __name__ == "__main__":
    sys.exit(main())
