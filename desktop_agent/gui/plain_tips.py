"""Tooltips of words that are not our own. Qt takes a tip with a tag in it for a page of HTML."""

from __future__ import annotations

import html


def plain_tip(text: str) -> str:
    """Return what shows exactly this text: a picture named in it must never be opened."""
    if "<" not in text and "&" not in text:
        return text
    return f'<p style="white-space: pre-wrap">{html.escape(text)}</p>'
