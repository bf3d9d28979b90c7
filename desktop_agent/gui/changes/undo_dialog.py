"""What an undo would do, before it is done: what comes back, what is asked, what can't."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from desktop_agent.core.changes import ChangeSet, Choice, PlannedFile, Prospect, UndoPlan
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.gui.changes.rows import icon_of, kind_text, renamed_text
from desktop_agent.gui.kit.fitted_area import PlainArea, fit_dialog
from desktop_agent.gui.kit.lists.filter_delegate import PickRow
from desktop_agent.gui.kit.lists.filter_list import FilterList
from desktop_agent.gui.kit.lists.tab_row import TabRow
from desktop_agent.gui.kit.rtl import code_text
from desktop_agent.gui.kit.safe_text import path_text, with_marks
from desktop_agent.gui.kit.text import with_plural
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    Chip,
    ElidedLabel,
    GhostButton,
    IconLabel,
    PrimaryButton,
    Separator,
    TextLabel,
    column,
    row,
)
from desktop_agent.gui.transcript.cards.diff_view import DiffView, diff_height

_WIDE, _HIGH = 52, 44  # in widths of the text size
_SHOWN_ROWS = 7
# Conflicts beyond these are decided together.
_MOST_ASKED = 50
_MOST_SAID = 60
# Of a difference below its question; all of it is on the page of changes.
_MOST_LINES, _MOST_COMPARED = 14, 200_000
# Nobody saves a file of their own while a shorter command runs.
_LONG_S = 5.0


class UndoDialog(QDialog):
    """`decided` starts the undo; closing it in any other way changes nothing.

    `unheld` says in words what else can't come back, `may_hold_yours` that it may take back what
    the person changed. With `is_result` it is about what a subagent changed elsewhere, and is to be
    done here.

    Signals:
        decided(dict): the choice for each path that is in conflict
        compare_requested(str): what was changed since in the file at this path; answered by
            `show_difference`
    """

    decided = Signal(object)
    compare_requested = Signal(str)

    def __init__(
        self,
        theme: Theme,
        plan: UndoPlan,
        title: str,
        parent: QWidget | None = None,
        *,
        is_redo: bool = False,
        is_result: bool = False,
        unheld: Sequence[str] = (),
        may_hold_yours: bool = False,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._is_redo, self._is_result = is_redo, is_result
        self._unheld = tuple(unheld)
        self._may_hold_yours = may_hold_yours
        self._asked: list[tuple[tuple[PlannedFile, ...], TabRow[Choice]]] = []
        self._compared: dict[str, _Comparison] = {}
        self._files: dict[Prospect, list[PlannedFile]] = {}
        for file in plan.files:
            self._files.setdefault(file.prospect, []).append(file)
        self.setObjectName("undoDialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(path_text(title))
        head = TextLabel(path_text(title), "h3", self, wraps=True)
        content = QWidget()
        self._groups = column(spacing=theme.space("s"), within=content)
        self._fill()
        self._groups.addStretch(1)
        gap, edge = theme.space("s"), theme.space("l")
        words = TextLabel(self._about(), "muted", self, wraps=True)
        self._content, self._area = content, PlainArea(content)
        parts = (head, words, theme.space("s"), (self._area, 1))
        layout = column(*parts, spacing=gap, edges=edge, within=self)
        self._add_foot(layout)
        self._show_counts()
        fit_dialog(self, theme, _WIDE, _HIGH)
        self._take.setFocus()

    @property
    def choices(self) -> dict[str, Choice]:
        """What is chosen for each path in conflict."""
        return {
            file.path: _possible(file, tabs.current)
            for files, tabs in self._asked
            for file in files
        }

    def showEvent(self, event: QShowEvent) -> None:
        """Be no higher than what there is to be decided about, now that it has its style."""
        super().showEvent(event)
        self.resize(self.width(), self.height() - max(0, self._area.height() - self._needed()))

    def _needed(self) -> int:
        needed = self._content.sizeHint().height()
        if self._content.hasHeightForWidth():
            needed = max(needed, self._content.heightForWidth(self._area.viewport().width()))
        return needed

    def _make_room(self) -> None:
        """Grow to show what came, as far as the screen has room."""
        more = self._needed() - self._area.height()
        room = self.screen().availableGeometry().height() - self.frameGeometry().height()
        self.resize(self.width(), self.height() + max(0, min(more, room)))

    # -- construction ------------------------------------------------------------------------

    def _about(self) -> str:
        if self._is_redo:
            return self.tr("Nothing else in this folder is touched.")
        if self._is_result:
            return self.tr("Nothing else in this folder is touched, and Undo takes it all back.")
        words = self.tr("Nothing else in this folder is touched, and Redo brings it all back.")
        if self._may_hold_yours:
            yours = self.tr("What you saved yourself while a command ran is taken back with it.")
            return f"{words} {yours}"
        return words

    def _fill(self) -> None:
        restored = self.tr("Will be put back") if self._is_redo else self.tr("Will be restored")
        restored = self.tr("Will be changed") if self._is_result else restored
        conflicts = self._files.get("conflict", ())
        self._add_list("restore", restored, "check" if self._is_result else "undo-2", "ok")
        if conflicts:
            # A file that was moved over is asked about too: each says itself what it is.
            words = self.tr("Your choice")
            words = self.tr("Changed here too, your choice") if self._is_result else words
            self._add_head(words, "circle-question-mark", "warn", len(conflicts))
            for file in conflicts[:_MOST_ASKED]:
                self._ask((file,), path_text(file.path), _since_text(file), icon_of(file.kind))
            if rest := conflicts[_MOST_ASKED:]:
                words = self.tr("{n} more file(s)").format(n=f"{len(rest):,}")
                self._ask(tuple(rest), with_plural(words, len(rest)), "", "ellipsis")
        lost = self.tr("Can’t be applied") if self._is_result else self.tr("Can’t come back")
        self._add_list("lost", lost, "circle-slash", "err")
        if self._unheld and "lost" not in self._files:
            self._add_head(lost, "circle-slash", "err", 0)
        for words in self._unheld:
            label = TextLabel(with_marks(words), "muted", wraps=True, name="undoUnheld")
            self._groups.addLayout(row(24, (label, 1)))

    def _add_head(self, words: str, icon: str, token: str, count: int) -> None:
        if self._groups.count():
            self._groups.addWidget(Separator())
        title = TextLabel(words, "strong")
        line = row(IconLabel(self._theme, icon, token), title)
        if count:
            title.setAccessibleName(f"{words}: {count:,}")
            line.addWidget(Chip(f"{count:,}"))
        line.addStretch(1)
        self._groups.addLayout(line)

    def _add_list(self, prospect: Prospect, words: str, icon: str, token: str) -> None:
        files = self._files.get(prospect, ())
        if not files:
            return
        self._add_head(words, icon, token, len(files))
        shown = FilterList(self._theme, f"{words}: {len(files):,}")
        shown.setObjectName(f"undo_{prospect}")
        shown.setUniformItemSizes(True)
        # To be read, not to be picked from.
        shown.setSelectionMode(FilterList.SelectionMode.NoSelection)
        shown.show_rows(tuple(self._row(file) for file in files))
        shown.setFixedHeight(shown.height_for(_SHOWN_ROWS))
        self._groups.addWidget(shown)

    def _row(self, file: PlannedFile) -> PickRow:
        words = with_marks(file.why)
        if file.prospect == "restore":
            words = {
                "created": self.tr("comes back"),
                "changed": self.tr("as it was before"),
                "deleted": self.tr("is removed: it is new"),
            }[file.kind]
            words = kind_text(file.kind) if self._is_result else words
        path = path_text(file.path)
        icon = icon_of(file.kind, file.was)
        if file.was:
            old, new = self.tr("gets its old name back"), self.tr("gets its new name back")
            path, words = renamed_text(file.was, file.path), new if self._is_redo else old
            words = self.tr("renamed") if self._is_result else words
        tip = f"{path}\n{words}"
        return PickRow(file.path, path, icon=icon, tag=words[:_MOST_SAID], tip=tip)

    def _ask(self, files: tuple[PlannedFile, ...], path: str, since: str, icon: str) -> None:
        titles: dict[Choice, str] = {
            "keep": self.tr("Keep mine"),
            "restore": self.tr("Take theirs") if self._is_result else self.tr("Restore"),
        }
        if any(file.can_merge for file in files):
            titles["merge"] = self.tr("Merge")
        asked = TabRow(self._theme, path, "undoChoice", titles)
        for button in asked.buttons.values():
            button.setAccessibleDescription(path)
        if self._is_result and all(file.can_merge for file in files):
            asked.choose("merge")  # what both did fits together
        asked.chosen.connect(self._show_counts)
        self._asked.append((files, asked))
        name = ElidedLabel(code_text(path))
        words = column(name, spacing=1)
        if since:
            words.addWidget(TextLabel(since, "warn", wraps=True))
        top = Qt.AlignmentFlag.AlignTop
        mark = IconLabel(self._theme, icon, "muted")
        compare: tuple[QWidget, ...] = ()
        comparison = None
        if len(files) == 1 and not self._is_result:
            comparison = self._compared[files[0].path] = _Comparison(self._theme, path)
            comparison.button.clicked.connect(partial(self._on_compare, files[0].path))
            compare = (comparison.button,)
        self._groups.addLayout(row(12, (mark, top), (words, 1), *compare, asked))
        if comparison is not None:
            self._groups.addWidget(comparison)

    def _on_compare(self, path: str) -> None:
        if self._compared[path].turn():
            self.compare_requested.emit(path)

    def show_difference(self, path: str, display: DiffDisplay) -> None:
        """Show what was changed since in a file, below its question."""
        if self._compared[path].is_wanted:
            self._compared[path].show_diff(display)
            self._make_room()

    def _add_foot(self, layout: QVBoxLayout) -> None:
        theme = self._theme
        self._words = TextLabel("", "muted", self, name="undoSummary", wraps=True)
        leave = GhostButton(theme, self.tr("Cancel"), "", self, name="leaveUndo")
        leave.clicked.connect(self.reject)
        icon = "redo-2" if self._is_redo else "check" if self._is_result else "undo-2"
        self._take = PrimaryButton(theme, "", icon, self, name="takeUndo")
        self._take.setDefault(True)
        self._take.clicked.connect(self._on_taken)
        layout.addLayout(row((self._words, 1), leave, self._take))

    # -- what is chosen ----------------------------------------------------------------------

    def _show_counts(self) -> None:
        chosen = list(self.choices.values())
        kept, lost = chosen.count("keep"), len(self._files.get("lost", ()))
        count = len(self._files.get("restore", ())) + len(chosen) - kept
        words = self.tr("Redo {n} file(s)") if self._is_redo else self.tr("Undo {n} file(s)")
        words = self.tr("Apply {n} file(s)") if self._is_result else words
        self._take.set_text(with_plural(words.format(n=f"{count:,}"), count))
        self._take.setEnabled(count > 0)
        said = [(self.tr("{n} file(s) left alone"), kept)]
        cannot = self.tr("{n} can’t come back")
        said += [(self.tr("{n} can’t be applied") if self._is_result else cannot, lost)]
        told = [with_plural(one.format(n=f"{n:,}"), n) for one, n in said if n]
        self._words.setText(", ".join(told) + "." if told else "")

    def _on_taken(self) -> None:
        self.decided.emit(self.choices)
        self.accept()


class _Comparison(QWidget):
    """The difference of one file, and the button that asks for it."""

    def __init__(self, theme: Theme, path: str) -> None:
        super().__init__()
        self._theme, self._path = theme, path
        self.button = GhostButton(theme, self.tr("Compare"), "", name="compareUndo")
        self.button.setAccessibleDescription(path)
        self._column = column(within=self)
        self.is_wanted = False
        self.hide()

    def turn(self) -> bool:
        """Want it shown, or not any more; return which."""
        self._clear()
        self.is_wanted = not self.is_wanted
        self.button.set_text(self.tr("Hide") if self.is_wanted else self.tr("Compare"))
        return self.is_wanted

    def _clear(self) -> None:
        """Show nothing."""
        self.hide()
        while (item := self._column.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()

    def show_diff(self, display: DiffDisplay) -> None:
        """Show a difference, or in words why there is none to see."""
        self._clear()
        patch = display.patch
        if not display.is_patch:
            words = with_marks(patch[:_MOST_SAID]) or self.tr("There is no text to compare.")
            self._column.addWidget(TextLabel(words, "muted", self, wraps=True))
        else:
            shown = patch[:_MOST_COMPARED].rpartition("\n")[0] if patch[_MOST_COMPARED:] else patch
            view = DiffView(self._theme, DiffDisplay(self._path, shown, 0, 0), self)
            view.setObjectName("undoDifference")
            view.setFixedHeight(
                min(view.sizeHint().height(), diff_height(self._theme, _MOST_LINES))
            )
            self._column.addWidget(view)
        self.show()


def _possible(file: PlannedFile, choice: Choice) -> Choice:
    """Return the choice for a file; what can't be merged is kept."""
    return "keep" if choice == "merge" and not file.can_merge else choice


def _since_text(file: PlannedFile) -> str:
    return with_marks(file.why or file.by)


def title_of(plan: UndoPlan, name: str, *, is_redo: bool) -> str:
    """Return what is asked; `name` is that of the scope's agent, if it has one."""
    scope = plan.scope
    if is_redo:
        return _tr("Put back what was taken back?")
    if scope.path:
        return _tr("Undo the changes to {path}?").format(path=scope.path)
    if scope.agent_id is not None:
        return _tr("Undo what {name} changed?").format(name=name)
    if scope.message_id is not None:
        return _tr("Undo what was changed for this message?")
    if scope.to_message is not None:
        return _tr("Restore files to before this message?")
    if scope.call_id or scope.set_id:
        return _tr("Undo these changes?")
    return _tr("Undo all changes?")


def _tr(text: str) -> str:
    return QCoreApplication.translate("UndoDialog", text)


def needs_asking(plan: UndoPlan) -> bool:
    """Whether somebody has to look before it is done."""
    return any(file.prospect in ("conflict", "lost") for file in plan.files)


def may_hold_yours(plan: UndoPlan, sets: Iterable[ChangeSet]) -> bool:
    """Whether a command ran so long that what the person saved meanwhile counts as its."""
    wanted = set(plan.sets)
    long = (s for s in sets if s.kind == "command" and s.ended - s.began >= _LONG_S)
    return any(one.id in wanted for one in long)


def can_do(plan: UndoPlan) -> bool:
    """Whether there is anything to be done, or to be said."""
    return any(file.prospect != "already" for file in plan.files)
