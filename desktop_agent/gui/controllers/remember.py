"""What the user wants remembered: as a line of their own instructions, or of the folder's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from desktop_agent.core.settings import LONGEST_INSTRUCTIONS
from desktop_agent.core.tool import ToolError
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.frame.notice_bar import Notice

if TYPE_CHECKING:
    from desktop_agent.gui.transcript.view.view import TranscriptView

_SHOWN_LINE = 200


class RememberController(Controller):
    """Writes nothing but what the user has seen as a line."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._pages.page_made.connect(self._on_page_made)

    def _on_page_made(self, view: TranscriptView, _: str) -> None:
        view.remember_requested.connect(self.ask)

    def ask(self, text: str) -> None:
        """Show a text of a message as a line, to be edited and kept."""
        from desktop_agent.gui.transcript.view.remember_dialog import RememberDialog  # rarely

        place = self._session.workspace
        root = place.root if place is not None and place.has_root else ""
        dialog = RememberDialog(self._theme, text, root, self._frame.window())

        def keep(line: str, is_here: bool) -> None:
            self.add(line, root if is_here else "")

        dialog.kept.connect(keep)
        dialog.open()

    def add(self, line: str, root: str = "") -> None:
        """Add a line to the instructions of a folder, or to the user's; say where it stands."""
        settings = self._session.settings
        if not line:
            words = self.tr("Write behind /remember what agents should keep in mind.")
        elif root:
            self._queries.run(self._add_here(line, root), "remembering")
            return
        elif len(settings.instructions) + len(line) >= LONGEST_INSTRUCTIONS:
            words = self.tr("Your instructions are full. Shorten them in Settings, Behaviour.")
        else:
            lines = [*filter(None, (settings.instructions.rstrip(),)), f"- {line}"]
            self._session.apply_settings(replace(settings, instructions="\n".join(lines)))
            words = self.tr("Remembered: “{line}”. Change it in Settings, Behaviour.")
            words = words.format(line=line[:_SHOWN_LINE])
        self._say(words)

    async def _add_here(self, line: str, root: str) -> None:
        try:
            name = await self._queries.engine.remember_here(root, line)
        except ToolError as error:
            words = self.tr("It was not written: {why}").format(why=error)
            self._frame.notices.put("remembered", Notice(words))
            return
        words = self.tr("Remembered in {file}: “{line}”.")
        self._say(words.format(file=name, line=line[:_SHOWN_LINE]))

    def _say(self, words: str) -> None:
        self._frame.notices.put("remembered", Notice(words, "info"))
