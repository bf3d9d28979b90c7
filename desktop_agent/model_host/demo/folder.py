"""What the demo model makes of a folder: kinds of files, and which ones are worth a look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

_KINDS = {
    "Markdown": ".md .markdown",
    "Text": ".txt .rst .log",
    "Python": ".py .pyi",
    "JavaScript and TypeScript": ".js .jsx .mjs .ts .tsx",
    "C and C++": ".c .h .cc .cpp .hpp",
    "Java and Kotlin": ".java .kt",
    "Rust": ".rs",
    "Go": ".go",
    "Web pages": ".html .htm .css",
    "Tables": ".csv .tsv .xlsx .xls .ods",
    "Documents": ".pdf .docx .odt .pptx .rtf",
    "Pictures": ".png .jpg .jpeg .gif .webp .svg .bmp .ico .heic",
    "Sound and video": ".mp3 .wav .ogg .flac .mp4 .mov .mkv .webm",
    "Settings": ".json .toml .yaml .yml .ini .cfg .conf .xml",
    "Shell": ".sh .bash .zsh .ps1 .bat",
    "Archives": ".zip .tar .gz .bz2 .xz .7z",
}
_KIND_OF = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()}
# Suffixes by how much they are worth to be read; the README comes before all.
_WORTH = (
    ".md .markdown .txt .rst",
    ".py .js .ts .tsx .go .rs .java .c .cpp .cs .sh",
    ".csv .tsv",
)
_RANK_OF = {suffix: rank for rank, some in enumerate(_WORTH, 1) for suffix in some.split()}
_PROJECT = frozenset({"pyproject.toml", "package.json", "cargo.toml", "go.mod", "makefile"})
_NEVER_READ = (".lock", ".min.js", ".map", ".pem", ".key", ".p12", ".pfx")


def kind_of(path: str) -> str:
    """Return the kind of a file by its ending, in words."""
    suffix = PurePosixPath(path).suffix.lower()
    return _KIND_OF.get(suffix) or (f"Other ({suffix})" if 1 < len(suffix) <= 8 else "Other")


def kinds(paths: Sequence[str]) -> list[tuple[str, int]]:
    """Return each kind with its number of files, the most common first."""
    counts = Counter(kind_of(path) for path in paths)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def top_level(paths: Sequence[str]) -> list[tuple[str, int]]:
    """Return the names at the top: folders with a `/` and their number of files, files with 0."""
    counts: Counter[str] = Counter()
    for path in paths:
        first, slash, _ = path.partition("/")
        counts[first + slash] += len(slash)
    return sorted(counts.items(), key=lambda item: (not item[1], item[0].lower()))


def worth_reading(paths: Sequence[str], most: int = 4) -> list[str]:
    """Return a few readable files, different in kind: the README first, then notes, code, data."""
    ranked = sorted((rank, p.count("/"), len(p), p) for p in paths if (rank := _rank(p)) < 9)
    seen: Counter[int] = Counter()
    turns: list[tuple[int, int, str]] = []
    for rank, _, _, path in ranked:
        turns.append((seen[rank], rank, path))
        seen[rank] += 1
    return [path for turn, _, path in sorted(turns)[:most] if turn < 2]


def _rank(path: str) -> int:
    pure = PurePosixPath(path)
    name, suffix = pure.name.lower(), pure.suffix.lower()
    # Files that start with a dot may hold secrets, and are asked about.
    if any(part.startswith(".") for part in pure.parts) or name.endswith(_NEVER_READ):
        return 9
    if name.startswith("readme"):
        return 0
    if name in _PROJECT:
        return 4
    if rank := _RANK_OF.get(suffix):
        return 6 if "test" in name and rank == 2 else rank
    return 5 if kind_of(path) in {"Settings", "Web pages"} else 9
