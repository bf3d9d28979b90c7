"""The names of keys in the window's texts, as they are on a Mac: there Qt's Ctrl is ⌘."""

from __future__ import annotations

from PySide6.QtCore import QTranslator

from desktop_agent.gui.kit.text import native_keys


class KeysOfMacs(QTranslator):
    """Installed on a Mac alone: all texts of the window pass through here."""

    def translate(
        self, context: str, sourceText: str, disambiguation: str | None = None, n: int = -1
    ) -> str:
        return native_keys(sourceText, is_mac=True)

    def isEmpty(self) -> bool:
        return False
