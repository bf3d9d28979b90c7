"""How a model does: its context as loaded, tools, speed, and what to change."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from desktop_agent.core.models import ModelCheckup, ModelInfo
from desktop_agent.gui.kit.check_line import CheckLine
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconButton, Popover, TextLabel, row
from desktop_agent.gui.language_models.checkup_text import (
    GOOD_CONTEXT,
    context_text,
    remedies,
    speed_text,
    tools_text,
)
from desktop_agent.gui.language_models.text import model_title

_LETTERS = 30


class CheckupPopover(Popover):
    """Says that the model is asked, until `show_checkup` is called."""

    def __init__(self, theme: Theme, model: ModelInfo, parent: QWidget) -> None:
        title = with_marks(plain(model_title(model)))
        super().__init__(theme, "", parent)
        self.setAccessibleName(self.tr("Check of {model}").format(model=title))
        self.setObjectName("checkupPopover")
        self._model = model
        self.body.setContentsMargins(*(theme.space("m"),) * 4)
        self.body.setSpacing(theme.space("s"))
        self.body.addWidget(TextLabel(self.accessibleName(), "title"))
        self._wide = self.wide(_LETTERS)
        self._busy = self._line()
        self._busy.show_busy(self.tr("Making two small requests to it…"))

    def show_checkup(self, found: ModelCheckup) -> None:
        """Show what was found."""
        self._busy.clear()
        context, tools, speed = self._line(), self._line(), self._line()
        if found.fault is not None:
            speed.show_fault(found.fault)
        is_small = found.context is not None and found.context < GOOD_CONTEXT
        _tell(context, context_text(found), None if found.context is None else not is_small)
        if found.fault is None:
            _tell(tools, tools_text(found), found.has_tools)
            _tell(speed, speed_text(found), None if found.tokens_per_s is None else True)
        for words, command in remedies(found, self._model.name):
            self._add_remedy(words, command)
        said = [line.text() for line in (context, tools, speed) if line.text()]
        self.setAccessibleDescription(". ".join(said))

    def _line(self) -> CheckLine:
        line = CheckLine(self._theme)
        line.setFixedWidth(self._wide)
        self.body.addWidget(line)
        return line

    def _add_remedy(self, words: str, command: str) -> None:
        about = TextLabel(words, "muted", name="remedy", wraps=True)
        about.setFixedWidth(self._wide)
        self.body.addWidget(about)
        about.show()
        if not command:
            return
        shown = TextLabel(command, "mono", name="remedyCommand", wraps=True)
        flags = Qt.TextInteractionFlag
        shown.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        shown.setAccessibleName(command)
        copy = IconButton(self._theme, "copy", self.tr("Copy"), size=14, name="copyRemedy")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(command))
        self.body.addLayout(row(shown, copy, stretch=0))


def _tell(line: CheckLine, words: str, is_good: bool | None) -> None:
    (line.show_ok if is_good else line.show_missing)(words)
