"""Which folder the agent works in: the button at the top of the sidebar, and what it opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.folders import (
    folder_icon,
    folder_warning,
    real_folder,
    short_path,
)
from desktop_agent.gui.kit.lists.choice_list import ChoiceList
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, SnapshotListModel
from desktop_agent.gui.kit.lists.two_line_delegate import TwoLineDelegate
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.tooltips import plain_tip
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    Popover,
    Separator,
    TextButton,
    TextLabel,
    row,
)
from desktop_agent.gui.skills.trust_banner import TrustLine
from desktop_agent.gui.workspace.extra_folders import ExtraFolders

_MAX_SHOWN = 6
_WIDTH = 25  # in widths of the text size


@dataclass(frozen=True, slots=True)
class FolderRow:
    """One recent folder. `tag` is a word at the trailing end, such as `missing`."""

    path: str
    title: str
    detail: str
    icon: str
    tag: str = ""
    is_current: bool = False

    @property
    def spoken(self) -> str:
        """The row as a screen reader says it."""
        return ", ".join(part for part in (self.title, self.detail, self.tag) if part)


class WorkspacePicker(Popover):
    """Recent folders, *Open folder…*, and the extra folders of the present workspace.

    Signals:
        folder_chosen(path): a real path, after any warning was answered
        browse_requested: open a folder dialog
        recent_removed(path): take a folder off the list
        workspace_changed(Workspace): other extra folders
        add_folder_requested: open a dialog for an extra folder
    """

    folder_chosen = Signal(str)
    browse_requested = Signal()
    recent_removed = Signal(str)
    workspace_changed = Signal(object)
    add_folder_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent.tr("Folders"), parent)
        self.setObjectName("workspacePicker")
        self._workspace: Workspace | None = None
        self._recent: tuple[str, ...] = ()
        self._running: dict[str, int] = {}
        self._risky = ""
        self._build()
        self.trust = TrustLine(theme, self)
        self.body.addWidget(self.trust)

    def set_state(
        self, workspace: Workspace | None, recent: Sequence[str], running: dict[str, int]
    ) -> None:
        """Show these folders; `running` counts sessions at work by folder."""
        self._workspace = workspace
        self._recent = tuple(recent)
        self._running = dict(running)
        self.extra.set_workspace(workspace)
        self._show_rows()

    def offer(self, path: str) -> bool:
        """Choose a folder; a risky or missing one is asked about in place. True if chosen."""
        real = real_folder(path)
        if real is None:
            self._show_missing(path)
            return False
        warning = folder_warning(real)
        if warning:
            self._show_warning(real, warning)
            return False
        self.take(real)
        return True

    def take(self, real: str) -> None:
        """Choose this folder, whatever it is."""
        self.close()
        self.folder_chosen.emit(real)

    def _build(self) -> None:
        theme = self._theme
        self.search = SearchField(theme, self.tr("Find a folder"), self)
        self.search.setObjectName("filterFolders")
        self.search.textChanged.connect(self._show_rows)
        self.search.left.connect(self.close)
        self.closed.connect(self.search.clear)
        self.search.returnPressed.connect(self._take_first)
        self._model: SnapshotListModel[FolderRow] = SnapshotListModel(
            lambda one: one.path,
            {
                int(Qt.ItemDataRole.DisplayRole): lambda one: one.title,
                int(Qt.ItemDataRole.AccessibleTextRole): lambda one: one.spoken,
                int(Qt.ItemDataRole.ToolTipRole): lambda one: plain_tip(one.path),
            },
            self,
        )
        self.list = ChoiceList("recentFolders", self)
        self.list.setUniformItemSizes(True)
        self.list.setModel(self._model)
        self.list.setItemDelegate(TwoLineDelegate(theme, self.list))
        self.list.setAccessibleName(self.tr("Recent folders"))
        self.list.chosen.connect(self._on_chosen)
        self.list.delete_pressed.connect(self._on_remove)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self._title = TextLabel(self.tr("Recent"), "section", self)
        self._title.setIndent(theme.space("s"))
        self._title.setContentsMargins(0, theme.space("s"), 0, 0)
        self._browse = GhostButton(theme, self.tr("Open folder…"), "folder-open", self)
        self._browse.setObjectName("openFolder")
        self._browse.setToolTip(self.tr("Or drop a folder on the window"))
        self._browse.clicked.connect(self._on_browse)
        self.extra = ExtraFolders(theme, self)
        self.extra.workspace_changed.connect(self.workspace_changed)
        self.extra.add_requested.connect(self.add_folder_requested)
        self._ask = self._question()
        for part in (self.search, self._ask, self._title, self.list, Separator(self)):
            self.body.addWidget(part)
        self.body.addLayout(row(self._browse, None))
        self.body.addWidget(self.extra)

    def _question(self) -> QWidget:
        frame = QFrame(self)
        frame.setProperty("frame", "warn")
        frame.setObjectName("folderWarning")
        icon = IconLabel(self._theme, "triangle-alert", "warn", 16, frame)
        self._ask_text = TextLabel("", "", frame)
        self._ask_text.setWordWrap(True)
        self._ask_first = TextButton(self._theme, "", "", frame)
        self._ask_first.setObjectName("folderWarningAccept")
        self._ask_first.clicked.connect(self._on_accept)
        self._ask_second = GhostButton(self._theme, "", "", frame)
        self._ask_second.setObjectName("folderWarningOther")
        self._ask_second.clicked.connect(self._on_other)
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(*(self._theme.space("m"),) * 4)
        top = row(icon, self._ask_text)
        top.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        top.setStretch(1, 1)
        layout.addLayout(top)
        layout.addLayout(row(self._ask_first, self._ask_second, None))
        frame.hide()
        return frame

    def _show_warning(self, real: str, warning: str) -> None:
        self._show_question(real, warning, self.tr("Use it anyway"), self.tr("Pick another…"))

    def _show_missing(self, path: str) -> None:
        text = self.tr("“{name}” is not there any more.").format(name=short_path(path))
        self._show_question(path, text, self.tr("Locate…"), self.tr("Remove"))

    def _show_question(self, path: str, text: str, first: str, second: str) -> None:
        self._risky = path
        self._ask_text.setText(text)
        self._ask_first.set_text(first)
        self._ask_second.set_text(second)
        self._ask.show()
        self.place()

    def _on_accept(self) -> None:
        self._ask.hide()
        if real_folder(self._risky) is None:
            self._on_browse()
        else:
            self.take(self._risky)

    def _on_other(self) -> None:
        self._ask.hide()
        if real_folder(self._risky) is None:
            self.recent_removed.emit(self._risky)
        else:
            self._on_browse()

    def _on_browse(self) -> None:
        self.close()
        self.browse_requested.emit()

    def _show_rows(self) -> None:
        wanted = self.search.text().strip().casefold()
        known = list(self._recent)
        if self._workspace is not None and self._workspace.root not in known:
            known.insert(0, self._workspace.root)
        self._model.set_rows(tuple(self._row(path) for path in known if wanted in path.casefold()))
        count = self._model.rowCount()
        self._title.setText(self._heading(count))
        self.list.setVisible(bool(count))
        self._frame.setMinimumWidth(min(_WIDTH * self._theme.text_px("ui"), self._widest()))
        height = self._theme.size("row2") * min(count, _MAX_SHOWN) + 6
        self.list.setFixedHeight(height)
        self.place()

    def _heading(self, count: int) -> str:
        if count:
            return self.tr("Recent")
        is_there = bool(self._typed_folder())
        return self.tr("Enter opens this folder") if is_there else self.tr("No recent folder")

    def _typed_folder(self) -> str:
        """Return the path in the field, if it is that of a folder."""
        typed = self.search.text().strip()
        is_path = typed.startswith("~") or PurePath(typed).is_absolute()
        return typed if is_path and real_folder(typed) is not None else ""

    def _widest(self) -> int:
        return max(0, self.window().width() - 2 * self._MARGIN)

    def _row(self, path: str) -> FolderRow:
        icon = folder_icon(path)
        running = self._running.get(path, 0)
        tag = ""
        if icon == "folder-x":
            tag = self.tr("missing")
        elif running:
            tag = self.tr("{n} running").format(n=running)
        is_current = self._workspace is not None and self._workspace.root == path
        return FolderRow(path, PurePath(path).name or path, short_path(path), icon, tag, is_current)

    def _take_first(self) -> None:
        if self._model.rowCount():
            self.offer(self._model.rows()[0].path)
        elif typed := self._typed_folder():
            self.offer(typed)

    def _on_chosen(self, index: QModelIndex) -> None:
        self.offer(index.data(ROW_ROLE).path)

    def _on_remove(self, index: QModelIndex) -> None:
        self.recent_removed.emit(index.data(ROW_ROLE).path)

    def _show_menu(self, where: QPoint) -> None:
        index = self.list.indexAt(where)
        if not index.isValid():
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Open"), lambda: self._on_chosen(index))
        remove = menu.addAction(self.tr("Remove from this list"), lambda: self._on_remove(index))
        remove.setShortcut("Del")
        menu.popup(self.list.viewport().mapToGlobal(where))
