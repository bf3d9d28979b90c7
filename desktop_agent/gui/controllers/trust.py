"""Trust in what a folder brings: the banner, the sheet, and what the person decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from desktop_agent.core.skills import FolderTrust, Skill, SkillDetail, SkillFile, TrustDecision
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.bridge.requests import Queries
from desktop_agent.gui.frame.layout import WindowFrame
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.skills.trust_text import folder_name, is_asking

_TOLD = "trust"
_TOLD_MS = 10_000


class TrustController(QObject):
    """`changed(FolderTrust)`: how the present folder stands."""

    changed = Signal(object)

    def __init__(self, theme: Theme, frame: WindowFrame, bridge: Bridge, queries: Queries) -> None:
        super().__init__(frame)
        self._theme = theme
        self._frame = frame
        self._bridge = bridge
        self._queries = queries
        self._root = ""
        self._skills: tuple[Skill, ...] = ()
        self._banner: Any = None
        self._sheet: Any = None
        self.trust = FolderTrust("")
        # The folder of which the person has just said that it is trusted.
        self._awaited = ""
        self._told = QTimer(self)
        self._told.setSingleShot(True)
        self._told.setInterval(_TOLD_MS)
        self._told.timeout.connect(self.forget_told)

    def set_root(self, root: str) -> None:
        """Follow the window to another folder; what was open of the last one closes."""
        if root != self._root:
            self._root = root
            if self._sheet is not None:
                self._sheet.reject()

    def show(self, trust: FolderTrust, skills: Sequence[Skill]) -> None:
        """Show how the folder stands."""
        self.trust = trust
        self._skills = tuple(skills)
        if is_asking(trust):
            if self._banner is None:
                self._make_banner()
            banner: Any = self._banner
            banner.show_trust(trust)
        if self._banner is not None:
            self._banner.setVisible(is_asking(trust))
        if self._sheet is not None:
            self._feed()
        self._tell(trust)
        self.changed.emit(trust)

    def decide(self, decision: TrustDecision, digest: str = "") -> None:
        """Trust the folder, ignore what it brings, or forget what was said.

        `digest` is what the person saw: only that is trusted.
        """
        self._awaited = self._root if decision == "trust" else ""
        self._bridge.engine.trust_folder(self._root, decision, digest=digest)
        self.forget_told()

    def forget_told(self) -> None:
        """Take the word about the last decision back."""
        self._told.stop()
        self._frame.notices.remove(_TOLD)

    def _tell(self, trust: FolderTrust) -> None:
        """Say once that the folder is trusted now, and where that is undone."""
        if is_asking(trust) or not trust.is_trusted or trust.root != self._awaited:
            return
        self._awaited = ""
        words = self.tr("{folder} is trusted. You can take it back in the folder list.")
        name = with_marks(folder_name(trust.root))
        self._frame.notices.put(_TOLD, Notice(words.format(folder=name), "info"))
        self._told.start()

    def look(self) -> None:
        """Show what would be read, or is; where there is nothing, say so."""
        if not self.trust.brings:
            words = self.tr("This folder brings no skills, roles or instructions.")
            self._frame.notices.hint(words)
            return
        if self._sheet is None:
            from desktop_agent.gui.skills.trust_dialog import TrustSheet  # rarely wanted

            self._sheet = sheet = TrustSheet(self._theme, self.trust, self._frame.window())
            sheet.decided.connect(self.decide)
            sheet.file_wanted.connect(self._show_file)
            sheet.files_wanted.connect(self._show_files)
            sheet.finished.connect(self._on_closed)
        self._feed()
        self._sheet.open()

    def read(self, directory: str, path: str, then: Callable[[str], None]) -> None:
        """Read a file below a directory, on another thread, with limits."""

        async def run() -> None:
            import asyncio  # loaded long before the first file is asked for

            from desktop_agent.gui.skills.file_list import read_shown

            then(await asyncio.to_thread(read_shown, directory, path))

        self._queries.run(run(), "reading a file")

    def _make_banner(self) -> None:
        from desktop_agent.gui.skills.trust_banner import TrustBanner  # most folders bring nothing

        self._banner = TrustBanner(self._theme, self._frame.center)
        self._banner.look_requested.connect(self.look)
        self._banner.decided.connect(self.decide)
        # The button that was pressed goes away, once the engine knows.
        self._banner.decided.connect(lambda _: self._frame.composer.focus_text())
        self._frame.add_bar(self._banner)

    def _on_closed(self) -> None:
        if self._banner is not None and self._sheet.root == self._root:
            self._banner.digest = self._sheet.digest
        self._sheet = None

    def _feed(self) -> None:
        self._sheet.show_trust(self.trust)
        root = self._root
        self._queries.ask(
            lambda files: self._list(root, files), self._queries.engine.provided_files(root)
        )

    def _list(self, root: str, files: Sequence[SkillFile]) -> None:
        if self._sheet is None or root != self._root:
            return
        from desktop_agent.gui.skills.trust_dialog import BroughtItem

        changed = set(self.trust.changed)
        # Of a trusted folder only what changed is asked about; without that, all is looked at.
        shows_all = not changed or not self.trust.is_trusted
        items = [
            BroughtItem(
                one.directory,
                one.name,
                one.description,
                "terminal" if one.scripts else "book-open",
                is_changed=one.is_changed,
                skill=one,
            )
            for one in self._skills
            if one.origin == "folder" and not one.problem and (shows_all or not one.is_trusted)
        ]
        items += [
            BroughtItem(
                one.path,
                Path(one.path).name,
                one.path if "/" in one.path else self.tr("Instructions for every session here"),
                "user" if "/" in one.path else "file-text",
                is_changed=one.path in changed and self.trust.is_trusted,
            )
            for one in files
            if shows_all or one.path in changed
        ]
        self._sheet.show_items(items)

    def _show_file(self, directory: str, path: str) -> None:
        def show(text: str) -> None:
            if self._sheet is not None:
                self._sheet.show_text(directory, path, text)

        self.read(directory or self._root, path, show)

    def _show_files(self, skill: Skill) -> None:
        def show(detail: SkillDetail | None) -> None:
            if self._sheet is not None and detail is not None:
                self._sheet.show_files(skill, detail.files)

        self._queries.ask(show, self._queries.engine.skill_detail(self._root, skill.directory))
