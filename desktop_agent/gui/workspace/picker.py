"""Which folder the agent works in: the button at the top of the sidebar, and what it opens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import msgspec
from PySide6.QtCore import QModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.folders import (
    folder_icon,
    folder_warning,
    reads_as_path,
    real_folder,
    short_path,
)
from desktop_agent.gui.kit.lists.choice_list import ChoiceList
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index, SnapshotListModel, text_roles
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    Popover,
    Separator,
    TextButton,
    TextLabel,
    column,
    named,
    row,
)
from desktop_agent.gui.skills.trust_banner import TrustLine
from desktop_agent.gui.workspace.extra_folders import ExtraFolders

_MAX_SHOWN = 6
_WIDTH = 25  # in widths of the text size
_ICON_PX = 16


class FolderRow(msgspec.Struct, frozen=True):
    """One recent folder. `tag` is a word at the trailing end, such as `missing`."""

    path: str
    title: str
    detail: str
    icon: str
    tag: str = ""
    is_current: bool = False

    @property
    def spoken(self) -> str:
        return ", ".join(part for part in (self.title, self.detail, self.tag) if part)


class WorkspacePicker(Popover):
    """Recent folders, *Open folder…*, and the extra folders of the present workspace.

    Signals:
        folder_chosen(path): a real path, after any warning was answered
        browse_requested: open a folder dialog
        recent_removed(path): take a folder off the list
    """

    folder_chosen = Signal(str)
    browse_requested = Signal()
    recent_removed = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent.tr("Folders"), parent)
        self.setObjectName("workspacePicker")
        self._workspace: Workspace | None = None
        self._recent: tuple[str, ...] = ()
        self._running: dict[str, int] = {}
        self._risky = ""
        self._build()

    def set_state(
        self, workspace: Workspace | None, recent: Sequence[str], running: dict[str, int]
    ) -> None:
        """Show these folders; `running` counts sessions at work by folder."""
        self._workspace = workspace
        self._recent, self._running = tuple(recent), dict(running)
        self.extra.set_workspace(workspace)
        self._show_rows()

    def offer(self, path: str) -> bool:
        """Choose a folder; a risky or missing one is asked about in place. True if chosen."""
        real = real_folder(path)
        if real is None:
            text = self.tr("“{name}” is not there any more.").format(name=short_path(path))
            self._ask_about(path, text, self.tr("Locate…"), self.tr("Remove"))
            return False
        warning = folder_warning(real)
        if warning:
            self._ask_about(real, warning, self.tr("Use it anyway"), self.tr("Pick another…"))
            return False
        self._take(real)
        return True

    def _take(self, real: str) -> None:
        self.close()
        self.folder_chosen.emit(real)

    def _build(self) -> None:
        theme = self._theme
        self.search = named(SearchField(theme, self.tr("Find a folder"), self), "filterFolders")
        self.search.textChanged.connect(self._show_rows)
        self.search.left.connect(self.close)
        self.closed.connect(self.search.clear)
        self.search.returnPressed.connect(self._take_first)
        self._model: SnapshotListModel[FolderRow] = SnapshotListModel(
            lambda one: one.path,
            text_roles(
                lambda one: one.title, lambda one: one.spoken, lambda one: plain_tip(one.path)
            ),
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
        for part in (self.search, self._question(), self._title, self.list, Separator(self)):
            self.body.addWidget(part)
        self.body.addLayout(row(self._browse, None))
        self.body.addWidget(self.extra)
        self.machine = _MachineSwitch(theme, self)
        self.body.addWidget(self.machine)
        self.trust = TrustLine(theme, self)
        self.body.addWidget(self.trust)

    def _question(self) -> QWidget:
        self._ask = frame = named(QFrame(self), "folderWarning")
        frame.setProperty("frame", "warn")
        icon = IconLabel(self._theme, "triangle-alert", "warn", 16, frame)
        self._ask_text = TextLabel("", "", frame, wraps=True)
        self._ask_first = TextButton(self._theme, "", "", frame, name="folderWarningAccept")
        self._ask_first.clicked.connect(self._on_accept)
        self._ask_second = GhostButton(self._theme, "", "", frame, name="folderWarningOther")
        self._ask_second.clicked.connect(self._on_other)
        top = row(icon, self._ask_text, stretch=1)
        top.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        buttons, edge = row(self._ask_first, self._ask_second, None), self._theme.space("m")
        frame.setLayout(column(top, buttons, spacing=-1, edges=(edge, edge, edge, edge)))
        frame.hide()
        return frame

    def _ask_about(self, path: str, text: str, first: str, second: str) -> None:
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
            self._take(self._risky)

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
        heading = self.tr("Recent")
        if not count:
            can_open = bool(self._typed_folder())
            heading = (
                self.tr("Enter opens this folder") if can_open else self.tr("No recent folder")
            )
        self._title.setText(heading)
        self.list.setVisible(bool(count))
        widest = max(0, self.window().width() - 2 * self._MARGIN)
        self._frame.setMinimumWidth(min(_WIDTH * self._theme.text_px("ui"), widest))
        self.list.setFixedHeight(self._theme.size("row2") * min(count, _MAX_SHOWN) + 6)
        self.place()

    def _typed_folder(self) -> str:
        """Return the path in the field, if it is that of a folder."""
        typed = self.search.text().strip()
        is_path = typed.startswith("~") or PurePath(typed).is_absolute()
        return typed if is_path and real_folder(typed) is not None else ""

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
        path: str = index.data(ROW_ROLE).path  # the row may be another's by then
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Open"), lambda: self.offer(path))
        out = self.tr("Remove from this list")
        remove = menu.addAction(out, lambda: self.recent_removed.emit(path))
        remove.setShortcut("Del")
        menu.popup(self.list.viewport().mapToGlobal(where))


class TwoLineDelegate(QStyledItemDelegate):
    """Rows have `title`, `detail`, `icon`, `tag` and `is_current`."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @property
    def _icon_px(self) -> int:
        return self._theme.icon_px(_ICON_PX)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, self._theme.size("row2"))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one: FolderRow = index.data(ROW_ROLE)
        with RowPainter(self._theme, painter, option) as pen:
            pen.ground()
            inner = pen.rect.adjusted(10, 0, -10, 0)
            token = "accent" if one.is_current else "muted"
            pen.icon(self._square(inner, inner.left()), one.icon, token)
            trailing = self._paint_trailing(pen, inner, one)
            self._paint_text(pen, inner.adjusted(self._icon_px + 10, 0, -trailing - 8, 0), one)

    def _paint_text(self, pen: RowPainter, words: QRect, one: FolderRow) -> None:
        theme, middle, rect = self._theme, words.center().y(), pen.rect
        upper = QRect(words.left(), rect.top() + 6, words.width(), middle - rect.top() - 5)
        lower = QRect(words.left(), middle + 1, words.width(), rect.bottom() - middle - 6)
        token = "subtle" if one.icon == "folder-x" else "fg"
        font = theme.font("ui", "medium")
        pen.text(upper, one.title, token, font, is_path=reads_as_path(one.title))
        elide = Qt.TextElideMode.ElideMiddle
        small = theme.font("caption")
        pen.text(
            lower, one.detail, pen.faint, small, elide=elide, is_path=reads_as_path(one.detail)
        )

    def _square(self, inner: QRect, left: int) -> QRect:
        size = self._icon_px
        return QRect(left, inner.center().y() - size // 2, size, size)

    def _paint_trailing(self, pen: RowPainter, inner: QRect, one: FolderRow) -> int:
        """Draw the tag or the tick at the trailing end; return the room it took."""
        tag = one.tag
        if not tag:
            if not one.is_current:
                return 0
            pen.icon(self._square(inner, inner.right() - self._icon_px), "check", "accent")
            return self._icon_px
        font = self._theme.font("caption")
        width = QFontMetrics(font).horizontalAdvance(tag) + 2
        box = QRect(inner.right() - width, inner.top(), width + 1, inner.height())
        pen.text(box, tag, "muted", font)
        return width


class _MachineSwitch(QWidget):
    """Says that this machine is the sandbox: for one session, in a container or a virtual machine.

    Hidden while no session is open.

    Signals:
        toggled(bool): the user switched it
    """

    toggled = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._box = QCheckBox(self.tr("This machine is the sandbox"), self)
        self._box.setObjectName("machineSandbox")
        self._box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        words = self.tr(
            "Only in a container or a virtual machine: commands of this session run as they are "
            "and may change everything on it, until the app is closed."
        )
        self._words = TextLabel(words, "subtle", wraps=True)
        self._box.setAccessibleName(self._box.text())
        self._box.setAccessibleDescription(words)
        self._box.clicked.connect(self._on_clicked)
        edge = theme.space("s")
        column(self._box, self._words, spacing=2, edges=(edge, edge, edge, 0), within=self)
        self.hide()

    def set_state(self, is_on: bool | None) -> None:
        """Show how it is for the open session; None while there is none."""
        self.setVisible(is_on is not None)
        self._box.setChecked(bool(is_on))
        self._words.set_role("warn" if is_on else "subtle")

    def _on_clicked(self, is_on: bool) -> None:
        self.set_state(is_on)
        self.toggled.emit(is_on)
