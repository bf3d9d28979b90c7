"""The first-run page: a model, then a folder. Nothing here blocks, and all of it can wait."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedWidget, QWidget

from desktop_agent.gui.kit.example_prompts import first_folder
from desktop_agent.gui.kit.fitted_area import PlainArea
from desktop_agent.gui.kit.folders import folder_warning, short_path
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    PrimaryButton,
    TextButton,
    TextLabel,
    column,
    named,
    row,
)
from desktop_agent.gui.welcome.card import Card, step_column
from desktop_agent.gui.welcome.model_step import ModelStep

_COLUMN = 640


class Welcome(QWidget):
    """Shows the first thing that is missing; what the steps `models` and `folder` request is
    connected there.

    Signals:
        probe_requested: look for servers, keys and models each time step one is shown;
            answered by `set_servers`, `set_keys`, `set_models` of `models`
    """

    probe_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        self.setAccessibleName(self.tr("First steps"))
        self.models = ModelStep(theme)
        self.folder = FolderStep(theme)
        self._steps = QStackedWidget()
        self._steps.addWidget(_column(self.models))
        self._steps.addWidget(_column(self.folder))
        column(self._steps, spacing=-1, within=self)
        self.folder.back_requested.connect(lambda: self.set_progress(""))

    def set_progress(self, model_title: str) -> None:
        """Show the step that comes first: without a model its choice, else the folder's."""
        self.folder.set_model(model_title)
        self._steps.setCurrentIndex(1 if model_title else 0)
        if not model_title and self.isVisible():
            self._probe()
        self.focus_step()

    def focus_step(self) -> None:
        """Give the focus to what leads on from the step that is shown."""
        if self.is_choosing_folder:
            self.folder.choose.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.models.focus_first()

    @property
    def is_choosing_folder(self) -> bool:
        return self._steps.currentIndex() == 1

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self.is_choosing_folder:
            self._probe()

    def _probe(self) -> None:
        self.models.set_searching(True)
        self.probe_requested.emit()


def _column(content: QWidget) -> QScrollArea:
    """Return the content in a centred column that scrolls when the window is low."""
    content.setMaximumWidth(_COLUMN)
    holder = QWidget()
    row(None, (content, 1000), None, spacing=-1, edges=(24, 40, 24, 24), within=holder)
    return PlainArea(holder)


class FolderStep(QWidget):
    """Chooses the first folder.

    Signals:
        folder_requested: open a folder dialog, answered by `set_folder`
        folder_chosen(path): final; the folder may have to be made first
        back_requested: back to the model
    """

    folder_requested = Signal()
    folder_chosen = Signal(str)
    back_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._doubtful = ""
        self.setObjectName("folderStep")
        self._model = Card(theme, "cardModel", "circle-check", "")
        self._model.set_icon("circle-check", "ok")
        back = GhostButton(theme, self.tr("Change"), name="changeModel")
        back.clicked.connect(self.back_requested)
        self._model.add_trailing(back)
        layout = step_column(
            self,
            self.tr("Choose a folder to work in"),
            self.tr(
                "The agent may read everything in this folder. It asks before it changes "
                "a file, or runs a command that does more than look."
            ),
        )
        layout.addSpacing(4)
        layout.addWidget(self._model)
        layout.addWidget(self._folder_card())
        layout.addWidget(self._warning())
        layout.addStretch(1)

    def set_model(self, title: str) -> None:
        self._model.set_title(self.tr("Model: {title}").format(title=title))
        self._model.setVisible(bool(title))

    def set_folder(self, path: str) -> None:
        """Take the folder from the dialog: a doubtful one is asked about first."""
        words = folder_warning(path)
        self._doubtful = path if words else ""
        self._warn.setVisible(bool(words))
        self._words.setText(words)
        self._where.setText(path)
        if words:
            self._other.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.folder_chosen.emit(path)

    def _folder_card(self) -> QWidget:
        card = Card(self._theme, "cardFolder", "folder-open", self.tr("A folder of yours"))
        card.set_detail(self.tr("You can also drop one on this window."))
        choose = PrimaryButton(self._theme, self.tr("Choose folder…"), name="chooseFolder")
        choose.clicked.connect(self.folder_requested)
        self.choose = choose
        card.add_trailing(choose)
        fresh = first_folder(Path.home())
        new = Card(self._theme, "cardNewFolder", "folder-plus", self.tr("A new empty folder"))
        new.set_detail(short_path(str(fresh)))
        use = TextButton(self._theme, self.tr("Use it"), name="useNewFolder")
        use.clicked.connect(lambda: self.folder_chosen.emit(str(fresh)))
        new.add_trailing(use)
        both = QWidget()
        column(card, new, spacing=12, within=both)
        return both

    def _warning(self) -> QWidget:
        self._warn = named(QFrame(), "folderWarning")
        self._warn.setProperty("frame", "warn")
        self._where = TextLabel("", "strong")
        self._words = TextLabel("", "", wraps=True)
        anyway = TextButton(self._theme, self.tr("Use it anyway"), name="useAnyway")
        anyway.clicked.connect(lambda: self.folder_chosen.emit(self._doubtful))
        self._other = other = GhostButton(
            self._theme, self.tr("Choose another…"), clicked=self.folder_requested
        )
        other.setObjectName("chooseAnother")
        words = column(self._where, self._words, 4, row(anyway, other, None), spacing=4)
        layout = row(spacing=12, edges=(16, 14, 16, 14), within=self._warn)
        icon = IconLabel(self._theme, "triangle-alert", "warn", 20)
        layout.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(words, 1)
        self._warn.hide()
        return self._warn
