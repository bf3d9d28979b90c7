"""What an address held: tick what to install, and look into each file first."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from PySide6.QtCore import (
    QCoreApplication,
    QRect,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyleOptionViewItem,
    QWidget,
)

from desktop_agent.core.skill_install import FoundSkill
from desktop_agent.gui.kit.fitted_area import FittedArea
from desktop_agent.gui.kit.lists.check_box import (
    CheckBoxDelegate,
    check_state,
    is_ticked,
    paint_box,
)
from desktop_agent.gui.kit.lists.list_model import Index
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.safe_text import plain_tip, with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, TextLabel, column, named, row
from desktop_agent.gui.skills.file_list import FilePreview
from desktop_agent.gui.skills.text import content_text

_SKILL = int(Qt.ItemDataRole.UserRole)
_FIRST_FILE = "SKILL.md"
_CHECK = 24
_ABOUT_LINES = 9

translate = QCoreApplication.translate


class SkillChecklist(QWidget):
    """What can't be installed can't be ticked, and says why.

    Signals:
        ticked: the choice changed
    """

    ticked = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._replaces = False
        self.setObjectName("skillChecklist")
        self.list = named(QListWidget(self), "foundSkills", self.tr("Skills that were found"))
        self.list.setItemDelegate(_FoundDelegate(theme, self.list))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.itemChanged.connect(self._on_ticked)
        self.list.currentItemChanged.connect(self._show)
        self._about = TextLabel("", "muted", name="foundAbout", wraps=True)
        self._about_area = FittedArea(self._about, _ABOUT_LINES * theme.text_px("ui"), self)
        self.preview = FilePreview(theme, self._about_area, self)
        both = row((self.list, 4), (self.preview, 5), spacing=theme.space("m"))
        column(self._make_bar(), (both, 1), spacing=theme.space("s"), within=self)
        self.ticked.connect(self._count)

    def _make_bar(self) -> QWidget:
        self._bar = bar = QWidget(self)
        self._counted = TextLabel("", "muted", bar, name="chosenCount")
        self._every = TextButton(self._theme, "", "", bar, name="chooseEvery")
        self._every.clicked.connect(self._tick_every)
        bar.setLayout(row(self._counted, None, self._every))
        return bar

    def show_found(self, skills: tuple[FoundSkill, ...]) -> None:
        """List what was found; all that can be installed without replacing is ticked."""
        self._replaces = False
        self._bar.setVisible(len(skills) > 1)
        with QSignalBlocker(self.list):
            self.list.clear()
            for skill in sorted(skills, key=_rank):
                item = self._item(skill)
                self.list.addItem(item)
                self._offer(item, is_ticked=True)
        self.ticked.emit()
        if skills:
            self.list.setCurrentRow(0)
            self._show(self.list.currentItem())

    def set_replacing(self, replaces: bool) -> None:
        self._replaces = replaces
        with QSignalBlocker(self.list):
            for item in self._items():
                self._offer(item, is_ticked=bool(item.data(_SKILL).clash))
        self.list.viewport().update()
        self.ticked.emit()

    def set_clashes(self, clashes: Mapping[str, str]) -> None:
        """Take what would be replaced elsewhere, by folder; other ticks stay as they are."""
        with QSignalBlocker(self.list):
            for item in self._items():
                skill: FoundSkill = item.data(_SKILL)
                words = clashes.get(skill.folder, "")
                if words != skill.clash:
                    item.setData(_SKILL, msgspec.structs.replace(skill, clash=words))
                    self._offer(item, is_ticked=not words or self._replaces)
        self.list.scheduleDelayedItemsLayout()
        self.ticked.emit()

    def _offer(self, item: QListWidgetItem, *, is_ticked: bool) -> None:
        skill: FoundSkill = item.data(_SKILL)
        is_free = not skill.problem and (self._replaces or not skill.clash)
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        item.setFlags(flags | Qt.ItemFlag.ItemIsUserCheckable if is_free else flags)
        if not is_free:
            item.setCheckState(Qt.CheckState.Unchecked)
        elif is_ticked and not skill.twin:
            item.setCheckState(Qt.CheckState.Checked)

    def _on_ticked(self, item: QListWidgetItem) -> None:
        """Of those of a name one can be installed: the one that was ticked last."""
        if item.checkState() == Qt.CheckState.Checked:
            name, own = item.text().casefold(), self.list.row(item)
            with QSignalBlocker(self.list):
                for number, other in enumerate(self._items()):
                    if number != own and other.text().casefold() == name:
                        other.setCheckState(Qt.CheckState.Unchecked)
            self.list.viewport().update()
        self.ticked.emit()

    def _tick_every(self) -> None:
        """Tick all that can be, or none when all are."""
        items = self._items()
        is_on = len(self.chosen()) < sum(map(_is_wanted_first, items))
        with QSignalBlocker(self.list):
            for item in items:
                is_chosen = is_on and _is_wanted_first(item)
                item.setCheckState(check_state(is_on=is_chosen))
        self.list.viewport().update()
        self.ticked.emit()

    def _count(self) -> None:
        """Say how many are ticked, and what they take of each request."""
        chosen = [item for item in self._items() if item.checkState() == Qt.CheckState.Checked]
        tokens = sum(item.data(_SKILL).tokens for item in chosen)
        words = self.tr("{n} of {all} chosen")
        if tokens:
            words = self.tr("{n} of {all} chosen · about {tokens} tokens in each request")
        about = f"{round(tokens, 2 - len(str(tokens))):,}"
        self._counted.setText(words.format(n=len(chosen), all=self.list.count(), tokens=about))
        free = sum(map(_is_wanted_first, self._items()))
        is_all = 0 < free <= len(chosen)
        self._every.set_text(self.tr("Choose none") if is_all else self.tr("Choose all"))
        self._every.setEnabled(free > 0)

    def has_clash(self) -> bool:
        return any(
            item.data(_SKILL).clash and not item.data(_SKILL).problem for item in self._items()
        )

    def chosen(self) -> tuple[str, ...]:
        """Return the folders of what is ticked."""
        return tuple(
            item.data(_SKILL).folder
            for item in self._items()
            if item.checkState() == Qt.CheckState.Checked
        )

    def _items(self) -> list[QListWidgetItem]:
        return [self.list.item(number) for number in range(self.list.count())]

    def _item(self, skill: FoundSkill) -> QListWidgetItem:
        item = QListWidgetItem(skill.name)
        item.setData(_SKILL, skill)
        item.setCheckState(Qt.CheckState.Unchecked)
        words = (skill.name, *_lines(skill, is_free=True))
        item.setData(Qt.ItemDataRole.AccessibleTextRole, ", ".join(word for word in words if word))
        item.setToolTip(plain_tip(skill.description))
        return item

    def _show(self, item: QListWidgetItem | None) -> None:
        if item is None:
            return
        skill: FoundSkill = item.data(_SKILL)
        lines = [skill.description, *skill.warnings, skill.twin]
        if skill.license:
            lines.append(self.tr("Licence: {words}").format(words=skill.license))
        if skill.compatibility:
            lines.append(self.tr("Made for: {words}").format(words=skill.compatibility))
        if skill.folder:
            lines.append(self.tr("From the folder {place}").format(place=skill.folder))
        self._about.setText(with_marks("\n".join(line for line in lines if line)))
        self.preview.clear(hides_files=False)
        self.preview.show_files(skill.files)
        paths = [file.path for file in skill.files]
        if paths:
            first = _FIRST_FILE if _FIRST_FILE in paths else paths[0]
            self.preview.look_at(skill.folder, first)


def _rank(skill: FoundSkill) -> tuple[bool, bool, str, bool]:
    """What can be installed comes first, and of several with one name the preferred one."""
    return bool(skill.problem), bool(skill.clash), skill.name, bool(skill.twin)


def _is_wanted_first(item: QListWidgetItem) -> bool:
    """Whether it can be ticked, and is none of those that come second of their name."""
    is_free = bool(item.flags() & Qt.ItemFlag.ItemIsUserCheckable)
    return is_free and not item.data(_SKILL).twin


def _lines(skill: FoundSkill, *, is_free: bool) -> tuple[str, str, str]:
    """Return what stands below the name: what it is for, what is in it, what is in the way."""
    about = skill.problem or skill.description
    in_the_way = skill.clash
    if skill.clash and not is_free:
        in_the_way = translate("Skills", "You have one of this name already.")
    elif skill.twin and not skill.clash:
        words = translate("Skills", "Same name as another; from {place}")
        in_the_way = words.format(place="/".join(skill.folder.split("/")[-3:-1]) or skill.folder)
    return about, content_text(skill.scripts, skill.allowed_tools), in_the_way


class _FoundDelegate(CheckBoxDelegate):
    """The box is before the name; below that stands what the skill is and holds."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, self._leading_box, parent)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        small = self._theme.text_px("small")
        skill: FoundSkill = index.data(_SKILL)
        lines = 3 if skill.clash or skill.twin else 2
        return QSize(120, self._theme.text_px("ui") + round(lines * small * 1.5) + 26)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self._theme
        skill: FoundSkill = index.data(_SKILL)
        is_free = bool(index.flags() & Qt.ItemFlag.ItemIsUserCheckable)
        about, inside, in_the_way = _lines(skill, is_free=is_free)
        small = theme.font("small")
        with RowPainter(theme, painter, option) as pen:
            pen.ground(1)
            holds = bool(skill.scripts or skill.allowed_tools)
            lines = [
                (skill.name, "fg" if is_free else "muted", theme.font("ui", "semibold")),
                (about, "err" if skill.problem else "muted", small),
                (inside, "warn" if holds else pen.faint, small),
                (in_the_way, "warn", small),
            ]
            if is_free:
                box = pen.mirrored(self.box(pen.rect))
                paint_box(theme, painter, box, is_on=is_ticked(index))
            top = pen.rect.top() + 8
            edge = 12 + theme.icon_px(_CHECK)
            for text, token, font in lines:
                high = round(QFontMetrics(font).height() * 1.15)
                box = QRect(pen.rect.left() + edge, top, pen.rect.width() - edge - 10, high)
                pen.text(box, with_marks(" ".join(text.split())), token, font)
                top += high

    def _leading_box(self, rect: QRect) -> QRect:
        size = self._theme.icon_px(16)
        return QRect(rect.left() + 10, rect.top() + 9, size, size)
