"""What the `.gitignore` files of a folder leave out."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Any, cast

from pathspec import GitIgnoreSpec
from pathspec.pattern import RegexMatchResult
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

IGNORE_FILE_LENGTH = 100_000
_IGNORE_MATCH_S = 0.1


class IgnoreRules:
    """The rules noted so far. Prefixes are relative to the top and end with a slash, or are empty.

    A rule that takes too long to match is dropped with its whole file.
    """

    def __init__(self) -> None:
        self._specs: dict[str, GitIgnoreSpec] = {}

    def __contains__(self, prefix: object) -> bool:
        """Whether the file of this folder is noted."""
        return prefix in self._specs

    def note(self, prefix: str, content: bytes) -> None:
        """Take the `.gitignore` of one folder; those of the folders above come first."""
        # As git does it: a mark in front is none of a rule, and lines end with line feeds alone.
        text = content[:IGNORE_FILE_LENGTH].removeprefix(BOM_UTF8).decode("utf-8", "replace")
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        self._specs[prefix] = GitIgnoreSpec.from_lines(_ignored, lines, backend="simple")

    def drop(self, prefix: str) -> None:
        """Forget the file of one folder."""
        self._specs.pop(prefix, None)

    def is_ignored(self, path: str) -> bool:
        """Whether git would leave out this relative path; a folder's ends with a slash."""
        # The deepest file that has an opinion decides, as in git.
        for where in self._above(path):
            try:
                verdict = self._specs[where].check_file(path[len(where) :]).include
            except TimeoutError:
                del self._specs[where]  # it was written to take for ever
                continue
            if verdict is not None:
                return verdict
        return False

    def _above(self, path: str) -> list[str]:
        """Return the prefixes that speak of a path, the deepest first."""
        parts = path.rstrip("/").split("/")[:-1]
        found = [""] if "" in self._specs else []
        prefix = ""
        for part in parts:
            prefix += part + "/"
            if prefix in self._specs:
                found.append(prefix)
        return found[::-1]


class _IgnorePattern(GitIgnoreSpecPattern):
    """A line of a `.gitignore`; raises TimeoutError when its stars take too long."""

    __slots__ = ()

    def match_file(self, file: Any) -> RegexMatchResult | None:
        expression = cast(Any, self.regex)
        found = expression.search(file, timeout=_IGNORE_MATCH_S)
        return RegexMatchResult(found) if found is not None else None


def _ignored(line: str) -> GitIgnoreSpecPattern:
    import regex  # 10 ms: not before there is such a file

    try:
        source, include = GitIgnoreSpecPattern.pattern_to_regex(line)
    except ValueError:  # git passes it by too
        source = include = None
    if source is None:
        return GitIgnoreSpecPattern(None, None)
    compiled: Any = regex.compile(source)
    return _IgnorePattern(compiled, include)
