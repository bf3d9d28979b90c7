"""A newer version of a skill: what it changes, file by file, before it is taken."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QWidget

from desktop_agent.core.messages import DiffDisplay
from desktop_agent.core.skill_install import SkillUpdate
from desktop_agent.core.skills import Skill
from desktop_agent.gui.kit.dialogs.question import Question
from desktop_agent.gui.kit.fitted_area import fit_dialog
from desktop_agent.gui.kit.lists.keyboard_focus import RingedArea
from desktop_agent.gui.kit.safe_text import path_text, with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    PrimaryButton,
    TextLabel,
    column,
    row,
)
from desktop_agent.gui.transcript.cards.diff_view import DiffView

_WIDE, _HIGH = 66, 48  # in widths of the text size
_COMMIT_LETTERS = 7
_HIGHEST_DIFF = 460
_NOWHERE = "/dev/null"


class UpdateSheet(QDialog):
    """`accepted` takes the update; closing it in any other way leaves the skill as it is."""

    def __init__(
        self, theme: Theme, skill: Skill, update: SkillUpdate, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("updateSkillSheet")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Update {name}").format(name=skill.name))
        title = TextLabel(self.tr("A newer version of {name}").format(name=skill.name), "h3", self)
        about = TextLabel(self._about(skill, update), "muted", self, name="updateAbout", wraps=True)
        layout = column(title, about, spacing=theme.space("s"), edges=theme.space("l"), within=self)
        for words in update.warnings:
            layout.addLayout(self._warning(words))
        layout.addWidget(self._make_diffs(update.diff), 1)
        self._take = PrimaryButton(theme, self.tr("Update"), "refresh-cw", self)
        self._take.setObjectName("takeUpdate")
        self._take.clicked.connect(self.accept)
        leave = GhostButton(theme, self.tr("Not now"), "", self, clicked=self.reject)
        leave.setObjectName("leaveUpdate")
        layout.addLayout(row(None, leave, self._take))
        fit_dialog(self, theme, _WIDE, _HIGH)

    def _about(self, skill: Skill, update: SkillUpdate) -> str:
        many = self.tr("{n} files change.").format(n=update.files_changed)
        words = self.tr("1 file changes.") if update.files_changed == 1 else many
        if update.commit:
            new = update.commit[:_COMMIT_LETTERS]
            old = skill.commit[:_COMMIT_LETTERS] or "?"
            words += " " + self.tr("From {old} to {new}.").format(old=old, new=new)
        return words + " " + self.tr("Nothing of it is run by updating.")

    def _warning(self, text: str) -> QHBoxLayout:
        label = TextLabel(with_marks(text), "warn", self, wraps=True)
        return row(IconLabel(self._theme, "triangle-alert", "warn", 16, self), (label, 1))

    def _make_diffs(self, diff: str) -> QWidget:
        content = QWidget()
        content.setAutoFillBackground(False)
        layout = column(spacing=self._theme.space("s"), within=content)
        for path, patch in split_diff(diff):
            name = TextLabel(path_text(path), "mono", content, wraps=True)
            layout.addWidget(name)
            view = DiffView(self._theme, DiffDisplay(path, patch, 0, 0), content)
            view.setObjectName("updateDiff")
            view.setFixedHeight(min(_HIGHEST_DIFF, view.content_height(_WIDE * 10)))
            layout.addWidget(view)
        layout.addStretch(1)
        area = RingedArea(self)
        area.setObjectName("updateArea")
        area.setAccessibleName(self.tr("What changes"))
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(content)
        area.viewport().setAutoFillBackground(False)
        return area


def split_diff(diff: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the patch of each file in a unified diff."""
    lines: list[str] = []
    path = ""
    for line in diff.splitlines():
        is_head = line.startswith("--- ") and not _is_in_hunk(lines)
        if is_head or line.startswith("diff --git "):
            if path:
                yield path, "\n".join(lines)
            path, lines = "", []
        if line.startswith(("--- ", "+++ ")) and not _is_in_hunk(lines):
            named = _path_in(line)
            path = named if named != _NOWHERE else path
        lines.append(line)
    if path:
        yield path, "\n".join(lines)


def _is_in_hunk(lines: list[str]) -> bool:
    """Whether a line that begins with `---` would be a removed one."""
    counts = [0, 0]
    for line in lines:
        if line.startswith("@@"):
            counts = _hunk_counts(line)
        elif line.startswith("+"):
            counts[1] -= 1
        elif line.startswith("-"):
            counts[0] -= 1
        elif line.startswith(" ") or not line:
            counts = [counts[0] - 1, counts[1] - 1]
    return max(counts) > 0


def _hunk_counts(line: str) -> list[int]:
    """Return how many old and new lines a hunk's head announces."""
    counts: list[int] = []
    for part in line.split(" ")[1:3]:
        _, _, number = part.partition(",")
        counts.append(int(number) if number.isdecimal() else 1)
    return counts if len(counts) == 2 else [0, 0]


def _path_in(line: str) -> str:
    path = line[4:].partition("\t")[0].strip()
    return path[2:] if path.startswith(("a/", "b/")) else path


def ask_before_removing(theme: Theme, skill: Skill, parent: QWidget) -> Question:
    """Return the question; its `accepted` means *Remove*."""
    words = _tr("Its folder goes to the app's removed files; agents no longer see it.")
    if skill.origin == "folder":
        words += " " + _tr("It is part of this folder: others who work in it lose it too.")
    box = Question(
        theme,
        parent,
        name="removeSkillQuestion",
        title=_tr("Remove skill?"),
        text=_tr("Remove {name}?").format(name=with_marks(skill.name)),
        detail=words,
        icon="trash-2",
        token="err",
    )
    box.add(_tr("Remove"), icon="trash-2")
    return box


def _tr(text: str) -> str:
    return QCoreApplication.translate("RemoveSkill", text)
