"""The list of skills: arrows choose, Space switches, Enter uses, Delete removes."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QModelIndex, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QListView, QMenu, QWidget

from desktop_agent.core.skills import Skill
from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardFocus
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.skills.delegate import SkillDelegate
from desktop_agent.gui.skills.list_model import SkillListModel, SkillRow, can_switch

_REMOVABLE = frozenset({"mine", "folder"})


class SkillRequests(QObject):
    """What the user asks for about a skill, in the list and beside it.

    Signals:
        switched(Skill, is_on, only_here)
        used(Skill), folder_opened(Skill), update_requested(Skill), remove_requested(Skill),
        setup_requested(Skill)
    """

    switched = Signal(object, bool, bool)
    used = Signal(object)
    folder_opened = Signal(object)
    update_requested = Signal(object)
    remove_requested = Signal(object)
    setup_requested = Signal(object)


class SkillList(KeyboardFocus, QListView):
    """The skills of a tab; a row changes when the next snapshot says so.

    Signals:
        pointed(Skill | None): the one shown in detail
        opened(Skill): a click or Enter
        typed(str): text for the filter
    """

    pointed = Signal(object)
    opened = Signal(object)
    typed = Signal(str)

    def __init__(self, theme: Theme, requests: SkillRequests, parent: QWidget) -> None:
        super().__init__(parent)
        self._requests = requests
        self.setObjectName("skillList")
        self.setAccessibleName(self.tr("Skills"))
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.rows = SkillListModel(self)
        self.rows.switched.connect(self._switch)
        self.setModel(self.rows)
        self._delegate = SkillDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self.clicked.connect(self._on_clicked)
        self.selectionModel().currentChanged.connect(self._point)
        self.customContextMenuRequested.connect(self._show_menu)
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    @property
    def current(self) -> Skill | None:
        return _skill(self.currentIndex())

    def show_rows(self, rows: tuple[SkillRow, ...]) -> None:
        """Show these rows; the current one stays if it is among them, else the first is."""
        held = self.current
        self._delegate.headings = frozenset(n for n, row in enumerate(rows) if row.is_heading)
        self.rows.set_rows(rows)
        if held is not None and self.choose(held.directory):
            self._point(self.currentIndex())
            return
        first = next((n for n, row in enumerate(rows) if not row.is_heading), -1)
        index = self.rows.index(first) if first >= 0 else QModelIndex()
        self.setCurrentIndex(index)
        self.scrollToTop()
        self._point(index)

    def choose(self, directory: str) -> bool:
        """Make a skill the current one; tells whether it is in the list."""
        index = self.rows.index_of(directory)
        if index.isValid() and index != self.currentIndex():
            self.setCurrentIndex(index)
        return index.isValid()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter shows, Ctrl+Enter uses, Delete removes; Space switches (the delegate's)."""
        skill = self.current
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if letters := _letters(event):
            self.typed.emit(letters)
        elif skill is None:
            super().keyPressEvent(event)
        elif is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            if skill.is_usable:
                self._requests.used.emit(skill)
        elif is_enter:
            self.opened.emit(skill)
        elif event.key() == Qt.Key.Key_Space and can_switch(skill):
            self._switch(skill, not skill.is_enabled)
        elif event.key() == Qt.Key.Key_Delete and can_remove(skill):
            self._requests.remove_requested.emit(skill)
        else:
            super().keyPressEvent(event)

    def menu_for(self, skill: Skill) -> QMenu:
        requests, menu = self._requests, QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        use = menu.addAction(self.tr("Use in chat"), lambda: requests.used.emit(skill))
        use.setEnabled(skill.is_usable)
        use.setShortcut("Ctrl+Return")
        menu.addSeparator()
        titles = (self.tr("Switch off"), self.tr("Switch off only in this folder"))
        if not skill.is_enabled:
            titles = (self.tr("Switch on"), self.tr("Switch on only in this folder"))
        for title, only_here in zip(titles, (False, True), strict=True):
            switch = partial(requests.switched.emit, skill, not skill.is_enabled, only_here)
            menu.addAction(title, switch).setEnabled(can_switch(skill))
        menu.addSeparator()
        menu.addAction(self.tr("Open its folder"), lambda: requests.folder_opened.emit(skill))
        update = menu.addAction(self.tr("Update…"), lambda: requests.update_requested.emit(skill))
        update.setEnabled(can_update(skill))
        remove = menu.addAction(self.tr("Remove…"), lambda: requests.remove_requested.emit(skill))
        remove.setEnabled(can_remove(skill))
        remove.setShortcut("Del")
        return menu

    def _switch(self, skill: Skill, is_on: bool) -> None:
        self._requests.switched.emit(skill, is_on, False)

    def _show_menu(self, where: QPoint) -> None:
        index = self.indexAt(where)
        skill = _skill(index) if index.isValid() else self.current
        if skill is not None:
            self.menu_for(skill).popup(self.viewport().mapToGlobal(where))

    def _on_clicked(self, index: QModelIndex) -> None:
        skill = _skill(index)
        if skill is not None and not self._delegate.took_click:
            self.opened.emit(skill)

    def _point(self, index: QModelIndex) -> None:
        self.pointed.emit(_skill(index))


def _letters(event: QKeyEvent) -> str:
    """Return what the key writes; nothing for a Space, which switches."""
    commands = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    is_command = event.modifiers() & (commands | Qt.KeyboardModifier.MetaModifier)
    text = event.text()
    return text if text.strip() and text.isprintable() and not is_command else ""


def can_remove(skill: Skill) -> bool:
    """Whether it is the user's own: what other apps and this one bring stays."""
    return skill.origin in _REMOVABLE


def can_update(skill: Skill) -> bool:
    """Whether it is known where a newer one would come from."""
    return can_remove(skill) and bool(skill.source)


def _skill(index: QModelIndex) -> Skill | None:
    row = index.data(ROW_ROLE) if index.isValid() else None
    return row.skill if isinstance(row, SkillRow) else None
