"""Trust in what a folder provides: the banner, the dialog, and what the user decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from desktop_agent.core.skills import FolderTrust, Skill, SkillDetail, SkillFile, TrustDecision
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.skills.text import folder_name, is_asking

if TYPE_CHECKING:
    from desktop_agent.gui.skills.trust_banner import TrustBanner
    from desktop_agent.gui.skills.trust_dialog import ProvidedItem, TrustSheet

_NOTICE = "trust"
_NOTICE_MS = 10_000


class TrustController(Controller):
    """Follows the present folder.

    Signals:
        changed(FolderTrust): how the folder stands
    """

    changed = Signal(object)

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self.trust = FolderTrust("")
        self._skills: tuple[Skill, ...] = ()
        self._banner: TrustBanner | None = None
        self._sheet: TrustSheet | None = None
        # The folder that the user has just decided to trust.
        self._awaited = ""

    def show(self, trust: FolderTrust, skills: tuple[Skill, ...]) -> None:
        """Show how the folder stands; what was open of another one closes."""
        is_other = trust.root != self.trust.root
        self.trust, self._skills = trust, skills
        if is_other and self._sheet is not None:
            self._sheet.reject()
        if is_asking(trust):
            banner = self._banner or self._make_banner()
            banner.show_trust(trust)
        if self._banner is not None:
            self._banner.setVisible(is_asking(trust))
        if self._sheet is not None:
            self._feed(self._sheet)
        self._put_notice(trust)
        self.changed.emit(trust)

    def decide(self, decision: TrustDecision, digest: str = "") -> None:
        """Trust the folder, ignore what it provides, or forget the last decision.

        `digest` is what the user saw: only that is trusted.
        """
        root = self.trust.root
        self._awaited = root if decision == "trust" else ""
        self._engine.trust_folder(root, decision, digest=digest)
        self.remove_notice()

    def remove_notice(self) -> None:
        self._frame.notices.remove(_NOTICE)

    def _put_notice(self, trust: FolderTrust) -> None:
        """Say once that the folder is trusted now, and where that is undone."""
        if is_asking(trust) or not trust.is_trusted or trust.root != self._awaited:
            return
        self._awaited = ""
        text = self.tr("{folder} is trusted. You can take it back in the folder list.")
        name = with_marks(folder_name(trust.root))
        notice = Notice(text.format(folder=name), "info", lasts_ms=_NOTICE_MS)
        self._frame.notices.put(_NOTICE, notice)

    def look(self) -> None:
        """Show what would be read, or is; where there is nothing, say so."""
        if not self.trust.brings:
            text = self.tr("This folder brings no skills, roles or instructions.")
            self._frame.notices.hint(text)
            return
        sheet = self._sheet or self._make_sheet()
        self._feed(sheet)
        sheet.open()

    def read(self, directory: str, path: str, then: Callable[[str], None]) -> None:
        """Read a file below a directory, on another thread, with limits."""

        async def run() -> None:
            import asyncio  # loaded long before the first file is asked for

            from desktop_agent.gui.skills.file_list import read_shown

            then(await asyncio.to_thread(read_shown, directory, path))

        self._queries.run(run(), "reading a file")

    def _make_banner(self) -> TrustBanner:
        from desktop_agent.gui.skills.trust_banner import TrustBanner  # few folders need it

        self._banner = banner = TrustBanner(self._theme, self._frame.center)
        banner.look_requested.connect(self.look)
        banner.decided.connect(self.decide)
        # The button that was pressed goes away, once the engine knows.
        banner.decided.connect(self._frame.composer.focus_text)
        self._frame.add_bar(banner)
        return banner

    def _make_sheet(self) -> TrustSheet:
        from desktop_agent.gui.skills.trust_dialog import TrustSheet  # rarely wanted

        self._sheet = sheet = TrustSheet(self._theme, self.trust, self._frame.window())
        sheet.decided.connect(self.decide)
        sheet.preview.wanted.connect(self._show_file)
        sheet.files_wanted.connect(self._show_files)
        sheet.finished.connect(self._on_closed)
        return sheet

    def _on_closed(self) -> None:
        sheet, self._sheet = self._sheet, None
        if sheet is not None and self._banner is not None and sheet.root == self.trust.root:
            self._banner.digest = sheet.digest

    def _feed(self, sheet: TrustSheet) -> None:
        sheet.show_trust(self.trust)
        root = self.trust.root

        def show(files: Sequence[SkillFile]) -> None:
            if self._sheet is sheet and root == self.trust.root:
                sheet.show_items(self._items(files))

        self._queries.ask(show, self._queries.engine.provided_files(root))

    def _items(self, files: Sequence[SkillFile]) -> list[ProvidedItem]:
        from desktop_agent.gui.skills.trust_dialog import ProvidedItem

        changed = set(self.trust.changed)
        # Of a trusted folder only what changed is asked about; without that, all is looked at.
        shows_all = not changed or not self.trust.is_trusted
        items = [
            ProvidedItem(
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
        for one in files:
            if shows_all or one.path in changed:
                words, icon = self._described(one.path)
                is_changed = one.path in changed and self.trust.is_trusted
                name = Path(one.path).name
                items.append(ProvidedItem(one.path, name, words, icon, is_changed=is_changed))
        return items

    def _described(self, path: str) -> tuple[str, str]:
        """Return what is said of a file that is no skill, and its icon."""
        if path == ".mcp.json":
            return self.tr("MCP servers: they start once you trust this"), "server"
        if "/" not in path:
            return self.tr("Instructions for every session here"), "file-text"
        folder, name = path.rsplit("/", 1)
        if name in {"AGENTS.md", "CLAUDE.md"}:
            words = self.tr("Instructions for work in {folder}")
            return words.format(folder=with_marks(folder)), "file-text"
        return path, "user"

    def _show_file(self, directory: str, path: str) -> None:
        def show(text: str) -> None:
            if self._sheet is not None:
                self._sheet.preview.show_text(directory, path, text)

        self.read(directory or self.trust.root, path, show)

    def _show_files(self, skill: Skill) -> None:
        def show(detail: SkillDetail | None) -> None:
            if self._sheet is not None and detail is not None:
                self._sheet.show_files(skill, detail.files)

        self._queries.ask(show, self._queries.engine.skill_detail(self.trust.root, skill.directory))
