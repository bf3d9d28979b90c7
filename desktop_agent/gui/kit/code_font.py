"""The font of code and commands: every character as it is, none joined to another."""

from __future__ import annotations

from PySide6.QtGui import QFont

from desktop_agent.gui.kit.theme import Theme


def mono_font(theme: Theme, size: str = "ui", weight: str = "regular") -> QFont:
    """Return the fixed-width font without ligatures: `--` must not look like one dash."""
    font = theme.font(size, weight, mono=True)
    for feature in ("calt", "liga"):
        font.setFeature(QFont.Tag.fromString(feature), 0)
    return font
