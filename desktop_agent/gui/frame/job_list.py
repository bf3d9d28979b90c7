"""The commands that run in the background, below tasks and subagents: each opens its terminal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.gui.kit.fitted_area import FittedArea
from desktop_agent.gui.kit.rtl import code_text
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    IconButton,
    Separator,
    TextLabel,
    column,
    has_focus_in,
    row,
)
from desktop_agent.gui.state.background_jobs import BackgroundJob

_LONGEST = 200
_LINES = 7  # high, of text


class JobList(QWidget):
    """Hidden while there is none.

    Signals:
        opened(agent_id, job_id): its terminal is wanted
        filled: the first came, or the last went
        left: what had the focus is gone
    """

    opened = Signal(str, str)
    filled = Signal()
    left = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("jobList")
        self.setAccessibleName(self.tr("Commands in the background"))
        self._theme = theme
        self._shown: tuple[BackgroundJob, ...] = ()
        self._rows: list[QWidget] = []
        content = QWidget()
        self._column: QVBoxLayout = column(spacing=theme.space("xxs"), within=content)
        gap, edge = theme.space("s"), theme.space("l") + 4
        title = TextLabel(self.tr("In the background"), "strong", self)
        area = FittedArea(content, _LINES * self.fontMetrics().lineSpacing(), self)
        inner = column(title, area, spacing=theme.space("xs"), edges=(edge, gap, gap, gap))
        column(Separator(self), inner, within=self)
        self.hide()

    @property
    def is_empty(self) -> bool:
        return not self._shown

    def show_jobs(self, jobs: Sequence[BackgroundJob]) -> None:
        """Show these; their words come with the first look at them."""
        known = tuple(job for job in jobs if job.command)
        if known == self._shown:
            return
        was_empty, had_focus = self.is_empty, has_focus_in(self)
        self._shown = known
        for old in self._rows:
            old.hide()
            old.deleteLater()
        self._rows = [self._row(job) for job in known]
        for one in self._rows:
            self._column.addWidget(one)
        self.setVisible(bool(known))
        if was_empty != self.is_empty:
            self.filled.emit()
        if had_focus:
            self.left.emit()

    def _row(self, job: BackgroundJob) -> QWidget:
        holder = QWidget(self)
        words = with_marks(plain(job.command))[:_LONGEST]
        label = ElidedLabel(code_text(words), role="mono", parent=holder, name="jobCommand")
        open_words = self.tr("Open the terminal of {command}").format(command=words)
        button = IconButton(self._theme, "terminal", open_words, holder, size=14, name="openJob")
        button.clicked.connect(partial(self.opened.emit, job.agent_id, job.job_id))
        holder.setLayout(row((label, 1), button, spacing=self._theme.space("xs")))
        return holder
