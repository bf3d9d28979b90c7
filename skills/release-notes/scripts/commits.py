"""List what changed between two points of a git history, sorted for release notes.

Conventional commits (`feat(scope)!: text`) are sorted by their type, others by their first word.
Nothing in the repository is changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_EXIT_CODES = (
    "Exit codes: 0 done, 1 not possible (the reason is on standard error), 2 wrong arguments,\n"
    "3 git is missing."
)
_HEAD = re.compile(r"(?P<type>[A-Za-z]+)(?:\((?P<scope>[^()]*)\))?(?P<bang>!)?:[ \t]+(?P<text>.+)")
_BREAKING = re.compile(r"^BREAKING[ -]CHANGES?:[ \t]*(.+(?:\n(?![\w-]+:[ ]|\n).+)*)", re.MULTILINE)
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,64})")
_REFERENCE = re.compile(r"(?<![\w/&])(?:[\w.-]+/[\w.-]+)?#\d+\b|\bGH-\d+\b|\b[A-Z][A-Z0-9]+-\d+\b")
_PULL = re.compile(
    r"Merge pull request (#\d+)|Merged in .+ \(pull request (#\d+)\)|See merge request \S*(!\d+)"
)
_COAUTHOR = re.compile(r"^Co-authored-by:[ \t]*([^<\n]+?)[ \t]*<", re.MULTILINE | re.IGNORECASE)
_TEMPORARY = re.compile(r"(fixup|squash|amend)! |wip\b", re.IGNORECASE)
# Abbreviations that look like the number of an issue.
_NO_REFERENCE = re.compile(r"(UTF|ISO|SHA|RFC|CVE|HTTP|AES|MD|BASE)-\d+")

SECTIONS = (
    "Breaking", "New", "Changed", "Fixed", "Faster", "Removed", "Security", "Reverted",
    "Documentation", "Dependencies", "Internal", "Other",
)  # fmt: skip
_TYPES = {
    "feat": "New", "feature": "New", "add": "New",
    "fix": "Fixed", "bugfix": "Fixed", "hotfix": "Fixed",
    "perf": "Faster", "security": "Security", "docs": "Documentation", "doc": "Documentation",
    "deps": "Dependencies", "revert": "Reverted", "remove": "Removed", "change": "Changed",
    "refactor": "Internal", "style": "Internal", "test": "Internal", "tests": "Internal",
    "ci": "Internal", "build": "Internal", "chore": "Internal", "release": "Internal",
}  # fmt: skip
_WORDS = {
    "New": "add adds added introduce introduces implement implements support supports allow allows",
    "Fixed": "fix fixes fixed correct corrects repair resolve resolves handle prevent avoid",
    "Changed": "change changes update updates improve improves rename move use make makes replace",
    "Faster": "speed optimise optimize optimises optimizes accelerate",
    "Removed": "remove removes removed drop drops delete deletes deprecate deprecates",
    "Reverted": "revert reverts",
    "Dependencies": "bump bumps upgrade upgrades",
    "Internal": "refactor test tests lint format reformat clean cleanup typo release bump-version",
    "Documentation": "document documents docs readme",
}
_BY_WORD = {word: section for section, words in _WORDS.items() for word in words.split()}


class Trouble(Exception):
    """What could not be done, in a sentence."""

    def __init__(self, words: str, code: int = 1) -> None:
        super().__init__(words)
        self.code = code


@dataclass
class Change:
    """One commit."""

    commit: str
    subject: str
    section: str
    scope: str = ""
    author: str = ""
    date: str = ""
    references: list[str] = field(default_factory=list)
    breaking: str = ""
    body: str = ""
    full: str = field(default="", repr=False)
    reverts: list[str] = field(default_factory=list)


def git(folder: Path, *words: str) -> str:
    """Return what git prints; no setting of the repository makes it start anything else."""
    settings = (
        "core.fsmonitor=false",
        "log.showSignature=false",
        "core.pager=cat",
        "color.ui=false",
    )
    command = ["git", *(word for one in settings for word in ("-c", one)), *words]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**environment, "LC_ALL": "C"},
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise Trouble("This needs the program git: install it from git-scm.com.", 3) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Trouble(f"git: {said[0].removeprefix('fatal: ') if said else 'failed'}")
    return done.stdout.decode("utf-8", "replace")


def start_of(folder: Path, end: str, pattern: str) -> str:
    """Return the newest tag before `end`; empty when there is none."""
    match = [f"--match={pattern}"] if pattern else []
    for point in (end, f"{end}^"):
        try:
            tag = git(folder, "describe", "--tags", "--abbrev=0", *match, point).strip()
        except Trouble as trouble:
            if trouble.code == 3:
                raise
            return ""
        # A tag on the end itself is the release that the notes are for.
        if commit_of(folder, tag) != commit_of(folder, end):
            return tag
    return ""


def commit_of(folder: Path, name: str) -> str:
    """Return the commit that a name stands for."""
    try:
        return git(
            folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        ).strip()
    except Trouble as trouble:
        if trouble.code == 3:
            raise
        raise Trouble(f"There is no tag, branch or commit {name!r} in this repository.") from None


def read_changes(folder: Path, span: str, paths: list[str], *, by_merge: bool) -> list[Change]:
    """Return the commits of a span, newest first."""
    which = ["--first-parent"] if by_merge else ["--no-merges"]
    fields = "%x1e%H%x1f%h%x1f%aN%x1f%as%x1f%P%x1f%B"
    words = ("log", *which, f"--format={fields}", "--end-of-options", span, "--", *paths)
    found: list[Change] = []
    for record in git(folder, *words).split("\x1e")[1:]:
        full, short, author, date, parents, message = record.strip("\n").split("\x1f", 5)
        is_merge = " " in parents
        change = sorted_in(message.strip(), is_merge=is_merge)
        change.full, change.commit, change.author, change.date = full, short, author, date
        found.append(change)
    return found


def sorted_in(message: str, *, is_merge: bool = False) -> Change:
    """Return a message as a change, in its section."""
    subject, _, body = message.partition("\n")
    subject, body = subject.strip(), body.strip()
    pull = _PULL.search(message)
    if is_merge and body:
        # The title of what was merged says more than that it was merged.
        subject, _, body = body.partition("\n")
    head = _HEAD.fullmatch(subject)
    broken = _BREAKING.search(body)
    change = Change("", subject, "Other", body=body.strip(), reverts=_REVERTS.findall(body))
    if head is not None and head["type"].lower() in _TYPES:
        change.section = _TYPES[head["type"].lower()]
        change.scope, change.subject = head["scope"] or "", head["text"]
        if change.scope.lower() in {"deps", "dependencies", "deps-dev"}:
            change.section = "Dependencies"
    else:
        change.section = _by_words(subject)
    if broken is not None or (head is not None and head["bang"]):
        change.section = "Breaking"
        change.breaking = " ".join(broken[1].split()) if broken is not None else ""
    names = [*(name for name in (pull or ()) and pull.groups() if name), *_references(message)]
    change.references = list(dict.fromkeys(names))
    change.subject = re.sub(r"\s*\((?:[\w./-]*#\d+(?:,\s*)?)+\)$", "", change.subject)
    return change


def _by_words(subject: str) -> str:
    if _TEMPORARY.match(subject):
        return "Internal"
    # `parser: fix it` and `[parser] fix it` name a part first.
    text = re.sub(r"^(\[[^\]]+\]|[\w./, -]{1,40}:)\s+", "", subject)
    first = re.match(r"[A-Za-z-]+", text)
    return _BY_WORD.get(first[0].lower(), "Other") if first else "Other"


def _references(message: str) -> list[str]:
    found = (match[0] for match in _REFERENCE.finditer(message))
    return [name for name in found if not _NO_REFERENCE.fullmatch(name)]


def without_reverted(changes: list[Change]) -> tuple[list[Change], int]:
    """Leave out each commit that another one of them takes back, and that one too."""
    gone: set[str] = set()
    # Newest first: what reverts a revert brings the first one back.
    for change in changes:
        if change.full in gone:
            continue
        for name in change.reverts:
            reverted = [other.full for other in changes if other.full.startswith(name)]
            if reverted:
                gone |= {change.full, *reverted}
    return [change for change in changes if change.full not in gone], len(gone)


def people(folder: Path, changes: list[Change], start: str) -> tuple[Counter[str], list[str]]:
    """Return who made the changes, and who of them had made none before."""
    counts = Counter(change.author for change in changes)
    for change in changes:
        counts.update(name for name in _COAUTHOR.findall(change.body) if name != change.author)
    if not start:
        return counts, []
    before = set(git(folder, "log", "--format=%aN", "--end-of-options", start).splitlines())
    return counts, sorted(name for name in counts if name not in before)


def show(args: argparse.Namespace) -> None:
    """Print the list."""
    folder = Path(args.repo)
    if not folder.is_dir():
        raise Trouble(f"There is no folder {args.repo}.")
    git(folder, "rev-parse", "--git-dir")
    end = commit_of(folder, args.to)
    start = args.start or start_of(folder, args.to, args.tags)
    if git(folder, "rev-parse", "--is-shallow-repository").strip() == "true":
        tell("This is a shallow clone: older commits are missing. Run `git fetch --unshallow`.")
    span = f"{commit_of(folder, start)}..{end}" if start else end
    everything = read_changes(folder, span, args.path, by_merge=args.merges)
    changes, reverted = without_reverted(everything)
    if not changes:
        raise Trouble(f"Nothing changed between {start or 'the beginning'} and {args.to}.")
    counts, newcomers = people(folder, changes, start)
    if args.format == "json":
        records = [_record(change) for change in changes]
        facts = {"from": start, "to": args.to, "changes": records, "authors": dict(counts)}
        print(json.dumps({**facts, "new authors": newcomers}, indent=1, ensure_ascii=False))
    else:
        print(f"# {start or 'the beginning'} to {args.to}: {len(changes)} changes\n")
        print("\n\n".join(_sections(changes)))
        print(f"\n## People\n\n{_names(counts, newcomers)}")
    if reverted:
        tell(f"{reverted} commits were left out: they cancel each other out.")


def _record(change: Change) -> dict[str, Any]:
    return {name: v for name, v in asdict(change).items() if name not in {"full", "reverts"}}


def _sections(changes: list[Change]) -> list[str]:
    found: list[str] = []
    for section in SECTIONS:
        lines = [_line(change) for change in changes if change.section == section]
        if lines:
            found.append("\n".join([f"## {section}\n", *lines]))
    return found


def _line(change: Change) -> str:
    scope = f"**{change.scope}:** " if change.scope else ""
    where = ", ".join([change.commit, *change.references])
    breaking = f"\n  - BREAKING: {change.breaking}" if change.breaking else ""
    return f"- {scope}{change.subject} ({where}){breaking}"


def _names(counts: Counter[str], newcomers: list[str]) -> str:
    names = ", ".join(f"{name} ({count})" for name, count in counts.most_common())
    return f"{names}\n\nFor the first time: {', '.join(newcomers)}" if newcomers else names


def tell(words: str) -> None:
    """Say something beside the result."""
    print(words, file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = argparse.ArgumentParser(
        description=__doc__, epilog=_EXIT_CODES, formatter_class=argparse.RawTextHelpFormatter
    )
    made.add_argument("--repo", default=".", help="the repository's folder (here)")
    made.add_argument("--from", dest="start", default="", help="a tag or commit; the last tag")
    made.add_argument("--to", default="HEAD", help="a tag, branch or commit (HEAD)")
    made.add_argument("--tags", default="", help="a pattern for the last tag: v* or app-*")
    made.add_argument("--path", action="append", default=[], help="only what touches this folder")
    made.add_argument(
        "--merges", action="store_true", help="one line for each merge, not for each commit"
    )
    made.add_argument("--format", choices=("markdown", "json"), default="markdown")
    return made


def end_quietly() -> int:
    """Whoever reads the output has seen enough: `head`, for instance."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def main() -> int:
    """Print the list; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A pipe on Windows has an old code page.
        getattr(stream, "reconfigure")(encoding="utf-8", errors="replace")  # noqa: B009
    try:
        show(parser().parse_args())
        sys.stdout.flush()
    except BrokenPipeError:
        return end_quietly()
    except Trouble as trouble:
        tell(str(trouble))
        return trouble.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
