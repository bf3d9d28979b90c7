"""The lists of files and of skills that open behind an `@` and a `/`; the text keeps the focus."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QListWidget, QListWidgetItem, QWidget

from desktop_agent.core.skills import Skill
from desktop_agent.gui.composer.server_offers import ServerPrompt, ServerSource
from desktop_agent.gui.kit.lists.filter_delegate import FilterDelegate, PickRow
from desktop_agent.gui.kit.lists.fuzzy import ranked
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE
from desktop_agent.gui.kit.safe_text import plain_tip, with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextLabel, column, named
from desktop_agent.gui.skills.text import origin_word, state_icon

_ROWS = 8
_WIDTH = 420
_SHOWN_SKILLS = 20
_OFFER_ROLE = int(Qt.ItemDataRole.UserRole) + 40


class FilePopup(QFrame):
    """Floats over the window above the text. `chosen` carries a path relative to the folder.

    `offer_chosen` carries what a server offers, where that is what the row stands for.
    """

    chosen = Signal(str)
    offer_chosen = Signal(object)

    def __init__(self, theme: Theme, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._theme = theme
        self._anchor = anchor
        self.setObjectName("filePopup")
        self.setProperty("frame", "popover")
        self.list = named(QListWidget(self), "fileList")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Paths read from left to right in every language.
        self.list.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.list.itemClicked.connect(self._choose)
        self.list.currentTextChanged.connect(self._announce)
        self._empty = TextLabel("", "subtle")
        self._empty.setContentsMargins(8, 4, 8, 4)
        column(self.list, self._empty, spacing=-1, edges=(4, 4, 4, 4), within=self)
        self.name_list(self.tr("Files that match"), self.tr("No file matches"))
        self.hide()

    def name_list(self, name: str, empty: str) -> None:
        """Say what is listed, and what is said when nothing is."""
        self.setAccessibleName(name)
        self.list.setAccessibleName(name)
        self._empty.setText(empty)

    def show_paths(self, paths: tuple[str, ...], sources: Sequence[ServerSource] = ()) -> None:
        """Show the paths above the anchor, then these resources, the first one current."""
        size = self._theme.icon_px(14)
        self.list.setIconSize(QSize(size, size))
        folder, file = (self._theme.icon(name, "subtle", size) for name in ("folder", "file-text"))
        found = [QListWidgetItem(folder if path.endswith("/") else file, path) for path in paths]
        server = self._theme.icon("server", "subtle", size)
        for source in sources:
            item = QListWidgetItem(server, source.title)
            item.setData(_OFFER_ROLE, source)
            item.setToolTip(plain_tip(source.resource.description or source.resource.uri))
            found.append(item)
        self.show_items(found)

    def show_items(self, items: Sequence[QListWidgetItem]) -> None:
        """Show rows above the anchor, the first one current; a row's text is what is chosen."""
        self.list.clear()
        for item in items:
            self.list.addItem(item)
        self.list.setVisible(bool(items))
        self._empty.setVisible(not items)
        if items:
            self.list.setCurrentRow(0)
        self._place(len(items))

    def take_key(self, event: QKeyEvent) -> bool:
        """Act on a key that belongs to the open list; True when it did."""
        if not self.isVisible():
            return False
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.hide()
            return True
        if not self.list.count() or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            return False
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if key == Qt.Key.Key_Down else -1
            self.list.setCurrentRow((self.list.currentRow() + step) % self.list.count())
            return True
        is_enter = key in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if key == Qt.Key.Key_Tab or (is_enter and not event.modifiers()):
            self._choose(self.list.currentItem())
            return True
        return False

    def _choose(self, item: QListWidgetItem) -> None:
        offer = item.data(_OFFER_ROLE)
        if offer is not None:
            self.offer_chosen.emit(offer)
        else:
            self.chosen.emit(item.text())

    def _announce(self, path: str) -> None:
        # The focus stays in the text: a screen reader would not hear of the list by itself.
        if path and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.list, path))

    def _place(self, count: int) -> None:
        window = self._anchor.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        row = max(self.list.sizeHintForRow(0), 24) if count else 0
        high = min(count, _ROWS) * row + 8 if count else 0
        self.list.setFixedHeight(high)
        wide = min(_WIDTH * self._theme.text_px("ui") // 13, window.width() - 24)
        self.resize(wide, high + 8 if count else self._empty.sizeHint().height() + 10)
        corner = self._anchor.mapTo(window, QPoint(0, 0)) - QPoint(0, self.height() + 14)
        room = QRect(12, 4, max(1, window.width() - 24), window.height())
        corner.setX(max(room.left(), min(corner.x(), room.right() - wide)))
        corner.setY(max(room.top(), corner.y()))
        self.move(corner)
        self.show()
        self.raise_()


class SkillPopup(FilePopup):
    """`chosen` carries a skill's name, or a command's with the slash before it.

    `offer_chosen` carries the prompt of a server.
    """

    def __init__(self, theme: Theme, anchor: QWidget) -> None:
        super().__init__(theme, anchor)
        self.setObjectName("skillPopup")
        self.name_list(self.tr("Skills that match"), self.tr("No skill matches"))
        self.list.setItemDelegate(FilterDelegate(theme, self.list))

    def show_skills(
        self,
        text: str,
        skills: Sequence[Skill],
        commands: Sequence[str] = (),
        prompts: Sequence[ServerPrompt] = (),
    ) -> None:
        """Show what matches by name, best first, then by description; commands; prompts."""
        named = ranked(text, skills, lambda one: one.name)
        names = {one.name for one in named}
        wanted = text.casefold()
        described = (
            one for one in skills if one.name not in names and wanted in one.description.casefold()
        )
        found = [_skill_item(one) for one in (*named, *described)][:_SHOWN_SKILLS]
        about = {
            "compact": self.tr("Summarise earlier work; behind it, what must be kept"),
            "remember": self.tr("Add a line to your instructions, for all your work"),
            "clear": self.tr("Begin context and task list anew; the transcript stays"),
        }
        elsewhere = self.tr("Have a subagent do it there, in a copy of the folder")
        given = [_command_item(one, about.get(one, elsewhere)) for one in commands]
        matching = ranked(text, prompts, lambda one: one.title)[:_SHOWN_SKILLS]
        self.show_items([*found, *given, *map(_prompt_item, matching)])


def _skill_item(skill: Skill) -> QListWidgetItem:
    item = QListWidgetItem(skill.name)
    line = " ".join(skill.description.split())
    icon, tag = state_icon(skill)[0], origin_word(skill.origin)
    item.setData(ROW_ROLE, PickRow(skill.name, skill.name, detail=line, icon=icon, tag=tag))
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{skill.name}, {line}")
    return item


def _prompt_item(offer: ServerPrompt) -> QListWidgetItem:
    title, line = f"/{offer.title}", with_marks(" ".join(offer.prompt.description.split()))
    item = QListWidgetItem(title)
    item.setData(_OFFER_ROLE, offer)
    item.setData(ROW_ROLE, PickRow(title, title, detail=line, icon="server"))
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{offer.title}, {line}")
    return item


def _command_item(name: str, about: str) -> QListWidgetItem:
    item = QListWidgetItem(f"/{name}")
    item.setData(ROW_ROLE, PickRow(name, f"/{name}", detail=about, icon="terminal"))
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{name}, {about}")
    return item
