"""The blocks of a growing answer that stand: which of them no later text can change."""

from __future__ import annotations

from collections.abc import Sequence

from desktop_agent.gui.transcript.document.markdown import Block, has_far_effects, parse

Signature = tuple[object, ...]


class StableBlocks:
    """`signatures` are what the blocks look like, `chars` is where their source ends.

    What was sure once is not parsed again: the end of a long answer costs as little as its
    beginning.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.signatures: list[Signature] = []
        self.chars = 0
        self._sure = (0, 0)
        self._is_lost = False

    def add(self, text: str, signatures: Sequence[Signature], chars: int) -> None:
        """Take in the blocks up to `chars` of the text that is known by now."""
        count, before = self._sure
        is_doubtful = count != len(self.signatures)
        self.signatures.extend(signatures)
        self.chars = chars
        # A list that goes on may still become a loose one.
        self._is_lost |= any(signature[0] for signature in signatures)
        if self._is_lost or not _is_closed(text, chars):
            return
        if is_doubtful and self.signatures[count:] != looks(parse(text[before:chars])):
            self._is_lost = True
            return
        self._sure = len(self.signatures), chars

    def sure(self, text: str) -> tuple[int, int]:
        """Return how many blocks of the whole text are sure, and where they end."""
        return (0, 0) if has_far_effects(text) else self._sure


def looks(blocks: Sequence[Block]) -> list[Signature]:
    """Return what the blocks look like."""
    return [block.signature for block in blocks]


def _is_closed(text: str, chars: int) -> bool:
    """Whether what ends there has ended: a line that still comes may yet belong to it."""
    return text[:chars].rstrip(" \t").endswith("\n\n") or "\n" in text[chars:]
