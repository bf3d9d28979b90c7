"""Odd characters, cut anywhere, streamed into the real view: every text is shown, none ends it.

python -m tests.gui.transcript.odd_text [--count N] [--seed N]
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

from markdown_it.token import Token
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication

from desktop_agent.core.events import ToolOutput
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.transcript.document.markdown import parse, task_mark
from desktop_agent.gui.transcript.state.items import AnswerItem, UserItem
from desktop_agent.gui.transcript.view.view import TranscriptView
from tests.gui.transcript import story
from tests.helpers.panels import open_page

ODD = (
    *("\ufeff", "\ufeff\ufeff", "\ufffe", "\uffff", "\x00", "\ufdd0", "\ufdd1", "\ufdef"),
    *("\ud800", "\udc00", "\ud83d", "\ude00", "\U0001fffe", "\U0010ffff"),
    *("\u202e", "\u2066", "\u2069", "\u200f", "\u200e", "\u061c"),
    *("\u2028", "\u2029", "\x85", "\r", "\r\n", "\n", "\n\n", "\x0b", "\x0c", "\x1c", "\x1b[31m"),
    *("e\u0301", "\u0301" * 40, "\u0489", "\u200d", "\u200b", "\u00ad", "\ufffc", "\ufffd"),
    *("👩\u200d💻", "🇩🇪", "👍🏽", "😀", "𝕏", "日本", "שלום", "مرحبا", "ß", "\u00a0", "\u2009"),
    *("\t", " ", "  ", "    ", "e000", "&#xFEFF;", "&#0;", "&#xFFFE;", "&nbsp;"),
)
MARKS = (
    *("*", "**", "_", "__", "~~", "`", "```", "```py\n", "~~~\n", "# ", "## ", "> ", "- ", "1. "),
    *("- [ ] ", "- [x] ", "|", "| a | b |\n|---|---|\n", "[", "](", ")", "](https://a.b/c)", "!["),
    *("]: ", "---\n", "===\n", "<b>", "</b>", "<!--", "\\", "&", "://", "http://a.b", "mailto:"),
)
WORDS = ("one", "two", "three", "word", "Über", "x1", ".", ", ", "!")
# What takes no room in a document or tells its blocks apart; the order of the rest is compared.
_LOOSE = re.compile(r"[\s\u2009\u200b\x1c-\x1f\x85]+")
# What no document holds, and what would turn the order of the text behind it.
_NOT_HELD = re.compile("[\x00\ufdd0-\ufdef\ufffc\ufeff\ufffe\uffff]")
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_PER_SESSION = 15


def text_of(chance: random.Random) -> str:
    """Return an odd text; half of them begin with an odd character."""
    pools: list[Sequence[str]] = [ODD, WORDS, MARKS] if chance.random() < 0.7 else [ODD, WORDS]
    parts = [chance.choice(chance.choice(pools)) for _ in range(chance.randint(1, 24))]
    if chance.random() < 0.02:
        parts.insert(chance.randint(0, len(parts)), "x" * 1_200)  # longer than any word may be
    if chance.random() < 0.5:
        parts.insert(0, chance.choice(ODD))
    text = "".join(parts)
    if chance.random() < 0.2:  # as halves, which a cut may part
        text = "".join(half for char in text for half in _halves(char))
    return text


def cut(text: str, chance: random.Random) -> list[str]:
    """Cut a text anywhere."""
    places = sorted(chance.sample(range(len(text) + 1), min(len(text), chance.randint(0, 7))))
    ends = [0, *places, len(text)]
    return [text[a:b] for a, b in pairwise(ends) if b > a]


def normal(shown: str) -> str:
    """Return what is compared of a text: its characters in order, without blanks."""
    return _LOOSE.sub("", shown)


def held(text: str) -> str:
    """Return what a document can hold of a text; halves are joined or become U+FFFD."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _NOT_HELD.sub("", re.sub("\r\n|[\r\u2028\u2029]", "\n", whole))


def prose(text: str) -> str:
    """Return what is shown of a text that is no code."""
    return _TURNS.sub("", held(text))


def code(text: str) -> str:
    """Return what is shown of code, whose hidden characters have marks."""
    return with_marks(held(text))


def expected(text: str) -> str:
    """Return what an answer shows: the words of its Markdown, read apart from the writer."""
    return normal("".join(words for block in parse(held(text)) for words in _words(block.tokens)))


def _halves(char: str) -> Iterator[str]:
    data = char.encode("utf-16-le", "surrogatepass")
    for at in range(0, len(data), 2):
        yield data[at : at + 2].decode("utf-16-le", "surrogatepass")


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    is_item = False
    for token in tokens:
        if token.type in ("fence", "code_block"):
            yield code(token.content)
        elif token.type == "inline":
            words = list(_inline(token))
            if is_item and token.children and token.children[0].type == "text":
                words[0] = prose(task_mark(token.children[0].content)[1])
            yield from words
        is_item = token.type == "list_item_open" or (is_item and token.type == "paragraph_open")


def _inline(token: Token) -> Iterator[str]:
    for piece in token.children or ():
        if piece.type == "code_inline":
            yield code(piece.content)
        elif piece.type == "image":
            yield f"[image: {prose(piece.content)}]"
        else:
            yield prose(piece.content)


class _Failures(logging.Handler):
    """Keeps what the view logs as failed."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())


class OddTexts:
    """Streams texts into a view, one after the other; `problems` is what was seen wrong."""

    def __init__(self, view: TranscriptView, seed: int) -> None:
        self._view = view
        self._chance = random.Random(seed)
        self._number = 0
        self._failures = _Failures()
        self.problems: list[str] = []

    def run(self, count: int) -> None:
        """Stream that many texts."""
        hook = sys.excepthook
        sys.excepthook = lambda kind, error, _: self.problems.append(f"{kind.__name__}: {error}")
        logging.getLogger("desktop_agent.gui").addHandler(self._failures)
        try:
            for _ in range(count):
                try:
                    self._one()
                except Exception as error:  # noqa: BLE001 - each is a find, and the next text comes
                    self.problems.append(f"{type(error).__name__}: {error}")
        finally:
            logging.getLogger("desktop_agent.gui").removeHandler(self._failures)
            sys.excepthook = hook
        self.problems += self._failures.told

    def _one(self) -> None:
        view, chance = self._view, self._chance
        if self._number % _PER_SESSION == 0:
            open_page(view, story.opened(status="running"))
        self._number += 1
        number, text = self._number, text_of(chance)
        events = [story.starts_to_say(number)]
        events += [story.delta(number, piece) for piece in cut(text, chance)]
        if chance.random() < 0.3:
            view.apply(events)
        else:
            for event in events:
                view.apply([event])
        if chance.random() < 0.1:
            QApplication.processEvents()
        view.apply([story.says(number, text)])
        self._check(AnswerItem, f"me_a{number}", expected(text), text)
        if number % 20 == 0:
            self._other(number, text)

    def _other(self, number: int, text: str) -> None:
        """Show the same text as everything else that it may come as."""
        view = self._view
        view.apply([*story.asks(number, text)])
        self._check(UserItem, f"me_u{number}", normal(prose(text)), text)
        command = story.call(number, "shell", command=text)
        run = [
            story.delta(f"t{number}", text, "thinking"),
            story.says(f"c{number}", "", command),
            story.needs(command, number, command=text, title=text, reason=text),
            story.runs(command),
            ToolOutput(story.AGENT, command.id, text),
            story.gives(command, text),
        ]
        for event in run:
            view.apply([event])
        view.find(text[:5])
        view.find("")
        QApplication.processEvents()

    def _check(self, kind: type, key: str, wanted: str, text: str) -> None:
        view = self._view
        rows = [one for one in view.page.rows if isinstance(one.row, kind)]
        shown = next((one for one in reversed(rows) if one.row.key.startswith(key)), None)
        if shown is None:
            if wanted and text.strip():  # a blank message has no row
                self.problems.append(f"not shown at all: {text!a}")
            return
        while view.page.is_behind:
            QApplication.processEvents()
        cursor = QTextCursor(shown.frame.firstCursorPosition())
        cursor.setPosition(shown.frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
        seen = normal(re.sub("[\ufdd0\ufdd1\ufffc]", "", cursor.selectedText()))
        # The state of a person's message follows its text.
        is_right = seen == wanted if kind is AnswerItem else seen.startswith(wanted)
        if not is_right:
            self.problems.append(f"{text!a}\n wanted {wanted!a}\n shown  {seen!a}")


def main() -> int:
    """Run the whole of it and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication([])
    theme = Theme(app)
    theme.configure("light", 100, True)
    view = TranscriptView(theme)
    view.resize(600, 240)
    view.show()
    texts = OddTexts(view, given.seed)
    for done in range(0, given.count, 1_000):
        texts.run(min(1_000, given.count - done))
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        sys.stdout.write(f"{done + 1_000} texts, {len(texts.problems)} problems\n")
        sys.stdout.flush()
    for problem in texts.problems[:20]:
        sys.stdout.write(f"{problem}\n")
    return bool(texts.problems)


if __name__ == "__main__":
    sys.exit(main())
