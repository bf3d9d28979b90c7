"""Taking a shell command apart: its simple commands, their words, and what else is in them.

This reads more than it understands on purpose: whatever is not plain is named in `features`,
and each caller says which features it accepts.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Literal

import msgspec

Feature = Literal[
    "expansion",  # $…, `…`, <(…)
    "redirect",
    "assignment",  # NAME=value in front of a command
    "escape",  # a backslash outside quotes, also where it parts the names of a path
    "glob",  # * ? [ ] { } ~ outside quotes
    "group",  # ( ) around commands
    "comment",
    "odd",  # any other character with no plain meaning
]


class SimpleCommand(msgspec.Struct):
    """One simple command: its words without quotes, and the targets of its redirects.

    `globs` are the places of words that the shell may expand. True where only plain `*` and
    `?` do it, in a word without quotes. `inputs` are here-documents and here-strings.
    """

    text: str = ""
    words: list[str] = []
    targets: list[str] = []
    features: set[Feature] = set()
    globs: dict[int, bool] = {}
    inputs: list[str] = []


class Script(msgspec.Struct):
    """A whole command line.

    `operators` stand between the commands. `nested` are the texts of substitutions and groups.
    `is_whole` is False when it could not be read to the end.
    """

    commands: list[SimpleCommand] = []
    operators: list[str] = []
    nested: list[str] = []
    is_whole: bool = True


# One command is judged by a dozen questions, each of which reads it.
@lru_cache(32)
def parse(command: str, *, is_powershell: bool = os.name == "nt") -> Script:
    """Read a command line; never raises. What it returns is everybody's, and not changed.

    PowerShell escapes with a backtick: a backslash is a part of a path there.
    """
    reader = _Reader(command, is_powershell=is_powershell)
    reader.read()
    return reader.script


_OPERATORS = ("&&", "||", "|&", ";;", ";", "|", "&", "\n")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=@%+-")
_HARMLESS_REDIRECTS = {
    (">", "/dev/null"),
    (">>", "/dev/null"),
    ("&>", "/dev/null"),
    (">&", "1"),
    (">&", "2"),
}
# All that a shell takes for nothing; other spaces can be a command's name.
_BLANKS = " \t\n"
_GLOB = frozenset("*?[]{}~")


class _Reader:
    """Reads left to right; each `_read_…` consumes what it names."""

    def __init__(self, text: str, *, is_powershell: bool) -> None:
        self.script = Script()
        self._text = text
        self._escape = "`" if is_powershell else "\\"
        self._at = 0
        self._command = SimpleCommand()
        self._began = 0
        self._word: list[str] | None = None
        self._is_quoted = False
        self._globs = ""
        self._sign = ""
        self._heredocs: list[tuple[str, bool, SimpleCommand]] = []

    def read(self) -> None:
        while self._at < len(self._text):
            self._read_next()
        self._end_word()
        self._end_command("")
        if self._heredocs:
            self.script.is_whole = False

    def _read_next(self) -> None:
        character = self._text[self._at]
        if character in " \t":
            self._end_word()
            self._at += 1
        elif operator := self._operator_here():
            self._read_operator(operator)
        elif character in "<>" or self._text.startswith("&>", self._at):
            self._read_redirect()
        elif character in "'\"":
            self._read_quoted(character)
        elif character == self._escape:
            self._read_escape()
        elif character in "$`":
            self._read_expansion()
        elif character in "()":
            self._read_group(character)
        else:
            self._read_plain(character)

    def _operator_here(self) -> str:
        if self._text.startswith("&>", self._at):
            return ""
        return next((o for o in _OPERATORS if self._text.startswith(o, self._at)), "")

    def _read_operator(self, operator: str) -> None:
        self._end_word()
        self._end_command(operator)
        self._at += len(operator)
        if operator == "\n":
            self._skip_heredocs()
        self._began = self._at

    def _read_redirect(self) -> None:
        if self._is_behind_descriptor():
            self._word = None
        self._end_word()
        self._miss_target()
        if self._text.startswith(("<(", ">("), self._at):
            self._at += 1
            self._command.features.add("expansion")
            self._read_group("(")
            return
        sign = next(
            s
            for s in ("<<<", "<<-", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">&", ">|", ">")
            if self._text.startswith(s, self._at)
        )
        self._at += len(sign)
        self._sign = sign

    def _is_behind_descriptor(self) -> bool:
        """Whether the word before is the number in `2>file`; `2&>file` and long ones are words."""
        if self._word is None or self._is_quoted or self._text[self._at] == "&":
            return False
        return re.fullmatch(r"[0-9]{1,9}", "".join(self._word)) is not None

    def _read_quoted(self, quote: str) -> None:
        end = self._at + 1
        while end < len(self._text) and self._text[end] != quote:
            end = self._text_past(end) if quote == '"' else end + 1
        if end >= len(self._text):
            self.script.is_whole = False
        inner = self._text[self._at + 1 : end]
        if quote == '"':
            self._note_double_quoted(inner)
        self._add(inner)
        self._is_quoted = True
        self._at = end + 1

    def _text_past(self, at: int) -> int:
        """Return where to go on inside double quotes: past an escape or a substitution."""
        if self._text[at] == self._escape:
            return at + 2
        if self._text.startswith("$(", at):
            closing = _closing(self._text, at + 1)
            return len(self._text) if closing < 0 else closing + 1
        return at + 1

    def _note_double_quoted(self, inner: str) -> None:
        if "$" in inner or "`" in inner:
            self._command.features.add("expansion")
            self.script.nested.extend(_substitutions(inner))
        if "\\" in inner or "!" in inner:
            self._command.features.add("odd")

    def _read_expansion(self) -> None:
        self._command.features.add("expansion")
        if self._text.startswith("$(", self._at):
            self._at += 1
            self._add("$()")
            self._read_group("(")
        elif self._text[self._at] == "`":
            end = self._text.find("`", self._at + 1)
            if end < 0:
                self.script.is_whole = False
                end = len(self._text)
            self.script.nested.append(self._text[self._at + 1 : end])
            self._add("``")
            self._at = end + 1
        else:
            self._add("$")
            self._at += 1

    def _read_group(self, character: str) -> None:
        if character == ")":
            # What is behind the pattern of a `case` is a command of its own.
            self.script.is_whole = False
            self._end_word()
            self._end_command("")
            self._at += 1
            self._began = self._at
            return
        self._command.features.add("group")
        end = _closing(self._text, self._at)
        if end < 0:
            self.script.is_whole = False
            end = len(self._text)
        self.script.nested.append(self._text[self._at + 1 : end])
        self._at = end + 1

    def _read_plain(self, character: str) -> None:
        if character == "#" and self._word is None:
            self._command.features.add("comment")
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
            return
        if character in _GLOB:
            self._command.features.add("glob")
            self._globs += character if character not in self._globs else ""
        elif character == "\\":
            self._command.features.add("escape")
        elif character not in _PLAIN and not (ord(character) > 127 and character.isalnum()):
            self._command.features.add("odd")
        self._add(character)
        self._at += 1

    def _read_escape(self) -> None:
        self._command.features.add("escape")
        character = self._text[self._at + 1 : self._at + 2]
        if character not in {"\n", ""}:
            self._add(character)
        self._at += 2

    def _add(self, text: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)

    def _end_word(self) -> None:
        if self._word is None:
            return
        word = "".join(self._word)
        is_plain_glob = set(self._globs) <= {"*", "?"} and not self._is_quoted
        is_glob, is_quoted = bool(self._globs), self._is_quoted
        self._word, self._is_quoted, self._globs = None, False, ""
        if self._sign:
            self._end_redirect(word, is_quoted=is_quoted)
            return
        name, equals, _ = word.partition("=")
        if equals and not self._command.words and name.rstrip("+").isidentifier():
            self._command.features.add("assignment")
            return
        if is_glob:
            self._command.globs[len(self._command.words)] = is_plain_glob
        self._command.words.append(word)

    def _end_redirect(self, target: str, *, is_quoted: bool) -> None:
        sign, self._sign = self._sign, ""
        if sign in {"<<", "<<-"}:
            self._heredocs.append((target, is_quoted, self._command))
        elif sign == "<<<":
            self._command.inputs.append(target)
        # Throwing output away, or joining both outputs, changes nothing.
        if (sign, target) not in _HARMLESS_REDIRECTS:
            self._command.features.add("redirect")
            self._command.targets.append(target)

    def _miss_target(self) -> None:
        """Give up on a redirect that has no target before something else begins."""
        if self._sign:
            self._sign = ""
            self._command.features.add("redirect")
            self.script.is_whole = False

    def _end_command(self, operator: str) -> None:
        self._miss_target()
        command = self._command
        command.text = self._text[self._began : self._at].strip(_BLANKS)
        if command.text:
            self.script.commands.append(command)
            self.script.operators.append(operator)
        elif operator not in {"\n", ""}:
            self.script.is_whole = False
        self._command = SimpleCommand()

    def _skip_heredocs(self) -> None:
        """Step over the bodies of here-documents: they are text, but for what is replaced in it."""
        for word, is_quoted, command in self._heredocs:
            began = self._at
            while True:
                end = self._text.find("\n", self._at)
                line = self._text[self._at : end if end >= 0 else len(self._text)]
                ended, self._at = self._at, end + 1 if end >= 0 else len(self._text)
                if line.lstrip("\t") == word:
                    break
                if end < 0:  # the end of the text ends it as well
                    self.script.is_whole = False
                    ended = self._at
                    break
            body = self._text[began:ended]
            command.inputs.append(body)
            if not is_quoted:
                self.script.nested.extend(_substitutions(body))
        self._heredocs = []


def _substitutions(inner: str) -> list[str]:
    """Return the texts of `$(…)` and backticks inside double quotes, where they run too."""
    found = inner.split("`")[1::2]
    at = inner.find("$(")
    while at >= 0:
        end = _closing(inner, at + 1)
        end = len(inner) if end < 0 else end
        found.append(inner[at + 2 : end])
        at = inner.find("$(", end)
    return found


def _closing(text: str, at: int) -> int:
    """Return where the bracket that opens at `at` closes, or -1; quotes are skipped."""
    depth = 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
        elif character == "'":
            at = text.find("'", at + 1)
            if at < 0:
                return -1
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return -1
