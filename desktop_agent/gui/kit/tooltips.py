"""Tooltips of words that are not our own. Qt takes a tip with a tag in it for a page of HTML."""

from __future__ import annotations


def plain_tip(text: str) -> str:
    """Return what shows exactly this text: a picture named in it must never be opened."""
    if "<" not in text and "&" not in text:
        return text
    return f'<p style="white-space: pre-wrap">{escaped(text)}</p>'


def escaped(text: str) -> str:
    """Return the text for HTML; the standard module brings the names of 2,000 characters."""
    for sign, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "#x27")):
        text = text.replace(sign, f"&{name};")
    return text
