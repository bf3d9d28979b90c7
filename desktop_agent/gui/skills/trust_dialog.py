"""What a folder would have agents read, each text as it is, before the user trusts it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from desktop_agent.core.skills import FolderTrust, Skill, SkillFile
from desktop_agent.gui.kit.fitted_area import fit_dialog
from desktop_agent.gui.kit.lists.filter_delegate import PickRow
from desktop_agent.gui.kit.lists.filter_list import FilterList
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    PrimaryButton,
    TextButton,
    TextLabel,
    named,
    row,
)
from desktop_agent.gui.skills.file_list import FilePreview
from desktop_agent.gui.skills.text import banner_text, content_text, folder_name, meanwhile_text

_WIDE, _HIGH = 70, 46  # in widths of the text size


class ProvidedItem(msgspec.Struct, frozen=True):
    """One thing a folder provides: a skill, or a file by its path below the folder."""

    key: str
    title: str
    about: str
    icon: str
    is_changed: bool = False
    skill: Skill | None = None


class TrustSheet(QDialog):
    """`digest` is what the user looks at, text by text in `preview` (without a directory: a file of
    the folder). When the folder changes meanwhile, it can be trusted only after *Review again*.

    Signals:
        decided("trust" | "ignore", digest): the decision
        files_wanted(Skill): answered by `show_files`
    """

    decided = Signal(str, str)
    files_wanted = Signal(object)

    def __init__(self, theme: Theme, trust: FolderTrust, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.root = trust.root
        self.digest = self._newest = trust.digest
        self._seen: set[str] = set()
        self.setObjectName("trustSheet")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Trust this folder?"))
        title = self.tr("Trust {folder}?").format(folder=with_marks(folder_name(trust.root)))
        self._meaning = TextLabel("", "muted", self, name="trustMeaning", wraps=True)
        self._summary = TextLabel("", "strong", self, wraps=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*(theme.space("l"),) * 4)
        layout.setSpacing(theme.space("s"))
        layout.addWidget(TextLabel(title, "h3", self))
        layout.addWidget(self._summary)
        layout.addWidget(self._meaning)
        layout.addWidget(self._make_warning())
        layout.addLayout(self._make_middle(), 1)
        layout.addLayout(self._make_buttons())
        self.show_trust(trust)
        fit_dialog(self, theme, _WIDE, _HIGH)

    def show_trust(self, trust: FolderTrust) -> None:
        """Follow what the folder brings."""
        self._summary.setText(with_marks(banner_text(trust)))
        words = self.tr(
            "If you trust it, agents that work here read these texts as instructions. "
            "Scripts still run only after the usual questions. What changes later is not "
            "used before you have seen it."
        )
        servers = self.tr(
            "Its MCP servers start at once: programs in the sandbox only, others are connected to "
            "by their address."
        )
        self._meaning.setText(f"{words} {servers}" if trust.has_servers else words)
        self._newest = trust.digest
        is_outdated = self.is_outdated
        self._warning.setVisible(is_outdated)
        self._trust.setVisible(not is_outdated)
        self._again.setVisible(is_outdated)

    @property
    def is_outdated(self) -> bool:
        """Whether the folder is not any more what the user began to look at."""
        return self.digest != self._newest

    def show_items(self, items: Sequence[ProvidedItem]) -> None:
        """List what would be read; the one that is looked at stays.

        What was looked at before the folder changed is marked.
        """
        current = self._list.current
        self._items = {item.key: item for item in items}
        again = self._seen if self.is_outdated else ()
        rows = tuple(
            PickRow(
                item.key,
                with_marks(item.title),
                detail=with_marks(" ".join(item.about.split())),
                icon=item.icon,
                tag=self._tag(item, item.key in again),
                tone="warn",
            )
            for item in items
        )
        self._list.show_rows(rows, current.key if current is not None else "")
        now = self._list.current
        if current is not None and now is not None and now.key == current.key:
            # The text may be another one by now: what is trusted is what is seen.
            self._on_item()

    def _tag(self, item: ProvidedItem, is_read_before: bool) -> str:
        if is_read_before:
            return self.tr("review again")
        return self.tr("changed") if item.is_changed else ""

    def show_files(self, skill: Skill, files: Sequence[SkillFile]) -> None:
        if self._list.current is not None and self._list.current.key == skill.directory:
            self.preview.show_files(files, is_shown=len(files) > 1)

    def _make_warning(self) -> QWidget:
        words = TextLabel(meanwhile_text(), "", self, name="trustMeanwhile", wraps=True)
        self._warning = QWidget(self)
        line = QHBoxLayout(self._warning)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(IconLabel(self._theme, "triangle-alert", "warn", 16, self._warning))
        line.addWidget(words, 1)
        return self._warning

    def _make_middle(self) -> QHBoxLayout:
        theme = self._theme
        self._items: dict[str, ProvidedItem] = {}
        self._list = named(FilterList(theme, self.tr("What would be read"), self), "providedList")
        self._list.selectionModel().currentChanged.connect(self._on_item)
        self._about = TextLabel("", "muted", self, wraps=True)
        self.preview = FilePreview(theme, self._about, self)
        self.preview.clear(hides_files=True)
        return row((self._list, 4), (self.preview, 6), spacing=theme.space("m"))

    def _make_buttons(self) -> QHBoxLayout:
        theme = self._theme
        self._trust = trust = PrimaryButton(theme, self.tr("Trust"), "shield-check", self)
        trust.setObjectName("trustSheetTrust")
        trust.clicked.connect(lambda: self._decide("trust"))
        self._again = again = PrimaryButton(theme, self.tr("Review again"), "eye", self)
        again.setObjectName("trustSheetAgain")
        again.clicked.connect(self._look_again)
        ignore = TextButton(theme, self.tr("Ignore"), "", self, name="trustSheetIgnore")
        ignore.clicked.connect(lambda: self._decide("ignore"))
        later = GhostButton(theme, self.tr("Decide later"), "", self, name="trustSheetLater")
        later.clicked.connect(self.reject)
        return row(None, later, ignore, again, trust)

    def _look_again(self) -> None:
        """Restart at the first text: what was read before does not count any more."""
        self.digest = self._newest
        self._seen.clear()
        self._warning.hide()
        self._again.hide()
        self._trust.show()
        items = tuple(self._items.values())
        self._list.show_rows((), "")
        self.show_items(items)
        self._list.setFocus()

    def _on_item(self) -> None:
        row_ = self._list.current
        item = self._items.get(row_.key) if row_ is not None else None
        if item is None:
            return
        self.preview.clear(hides_files=True)
        self._seen.add(item.key)
        skill = item.skill
        if skill is None:
            self._about.setText("")
            self.preview.look_at("", item.key)
            return
        words = "\n".join((skill.description, content_text(skill.scripts, skill.allowed_tools)))
        self._about.setText(with_marks(words))
        self.files_wanted.emit(skill)
        self.preview.look_at(skill.directory, "SKILL.md")

    def _decide(self, decision: str) -> None:
        self.decided.emit(decision, self.digest)
        self.accept()
