"""What fills the model's context, part by part, and how to make room in it."""

from __future__ import annotations

from PySide6.QtCore import QLocale, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QFormLayout, QGridLayout, QSizePolicy, QWidget

from desktop_agent.core.usage import ContextUse
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    Popover,
    PrimaryButton,
    Separator,
    TextButton,
    TextLabel,
    named,
    row,
)

_LETTERS = 26
_BAR = 8
_DOT = 10
_PARTS = {
    "system": "accent",
    "skills": "c_kw",
    "tools": "info",
    "messages": "ok",
    "files": "c_num",
}


class ContextPopover(Popover):
    """Says that it counts until `show_use` is called.

    Signals:
        compact_requested(str): make the history shorter now; what must not be lost, or nothing
        usage_requested: show what was used up by all sessions
    """

    compact_requested = Signal(str)
    usage_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, "", parent)
        self.setAccessibleName(self.tr("Context"))
        self.setObjectName("contextPopover")
        self._wide = self.wide(_LETTERS)
        self._total = TextLabel(self.tr("Counting…"), "muted", name="contextTotal", wraps=True)
        self._bar = named(_Bar(theme), "contextBar")
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(theme.space("s"))
        self._grid.setVerticalSpacing(theme.space("xs"))
        self._grid.setColumnStretch(1, 1)
        self._window = TextLabel("", "muted", name="contextWindow", wraps=True)
        self._cached = TextLabel("", "muted", name="contextCached", wraps=True)
        self._titles = {
            "system": self.tr("System"),
            "skills": self.tr("Skills"),
            "tools": self.tr("Tools"),
            "messages": self.tr("Messages"),
            "files": self.tr("Files"),
        }
        self._numbers = {
            name: self._add_part(place, name) for place, name in enumerate(self._titles)
        }
        self._lay_out(theme)

    def _lay_out(self, theme: Theme) -> None:
        self._keep = named(Line(self), "contextKeep", self.tr("What must be kept?"))
        self._keep.setPlaceholderText(self.tr("Anything that matters, in your words"))
        self._keep.returnPressed.connect(self._compact)
        self._button = PrimaryButton(theme, self.tr("Compact now"), parent=self)
        self._button.setObjectName("compactNow")
        self._button.clicked.connect(self._compact)
        self._about = TextLabel(
            self.tr("Older work becomes a summary. What was said stays here, and you can undo it."),
            "muted",
            wraps=True,
        )
        form = QFormLayout()
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapAllRows)
        form.setSpacing(theme.space("xs"))
        form.addRow(self.tr("What must be kept?"), self._keep)
        body = self.body
        body.setContentsMargins(*(theme.space("m"),) * 4)
        body.setSpacing(theme.space("s"))
        body.addWidget(TextLabel(self.tr("Context"), "title"))
        for one in (self._total, self._bar):
            body.addWidget(one)
        body.addLayout(self._grid)
        for one in (self._window, self._cached, Separator(), self._about):
            body.addWidget(one)
        body.addLayout(form)
        usage = TextButton(theme, self.tr("Usage…"), "gauge", parent=self)
        usage.setObjectName("openUsage")
        usage.clicked.connect(self.usage_requested)
        body.addLayout(row(self._button, None, usage))
        for label in (self._total, self._window, self._cached, self._about):
            label.setFixedWidth(self._wide)

    def _add_part(self, place: int, name: str) -> TextLabel:
        number = TextLabel("", "", name=f"context-{name}")
        self._grid.addWidget(_Dot(self._theme, _PARTS[name]), place, 0)
        self._grid.addWidget(TextLabel(self._titles[name]), place, 1)
        self._grid.addWidget(number, place, 2, Qt.AlignmentFlag.AlignRight)
        return number

    def show_use(self, use: ContextUse) -> None:
        """Show what the next request would take."""
        locale = QLocale()
        for name, label in self._numbers.items():
            count = locale.toString(getattr(use, name))
            label.setText(count)
            label.setAccessibleName(f"{self._titles[name]}: {count}")
        self._total.setText(self._total_text(use))
        self._window.setText(self._window_text(use))
        self._cached.setText(self._cached_text(use))
        self._cached.setVisible(bool(self._cached.text()))
        self._bar.show_use(use)
        spoken = [f"{self._titles[name]} {getattr(use, name)}" for name in self._titles]
        self._bar.setAccessibleName(", ".join(spoken))
        self.setAccessibleDescription(self._total.text())
        self._button.setEnabled(use.can_compact)
        self._keep.setEnabled(use.can_compact)
        why = "" if use.can_compact else self.tr("There is nothing to summarise yet.")
        self._button.setToolTip(why)
        self._button.setAccessibleDescription(why)

    def _total_text(self, use: ContextUse) -> str:
        total = QLocale().toString(use.total)
        if not use.window:
            return self.tr("The next request takes about {total} tokens.").format(total=total)
        words = self.tr("The next request takes about {total} of {window} tokens ({percent} %).")
        return words.format(
            total=total,
            window=QLocale().toString(use.window),
            percent=round(100 * use.total / use.window),
        )

    def _window_text(self, use: ContextUse) -> str:
        if not use.window:
            return self.tr(
                "How much the model takes is not known. You can set it in Settings, under Models."
            )
        origins = {
            "known": self.tr("known from the list of models"),
            "learned": self.tr(
                "learned when a longer request did not get through. Choose the model again when "
                "its server gives it more"
            ),
            "set": self.tr("set by you in Settings"),
        }
        words = self.tr("The model’s window: {window} tokens, {origin}.")
        return words.format(
            window=QLocale().toString(use.window), origin=origins.get(use.source, "")
        )

    def _cached_text(self, use: ContextUse) -> str:
        if use.cached_tokens is None or not use.input_tokens:
            return ""
        words = self.tr("Of the last request, {cached} of {all} tokens came from the cache.")
        locale = QLocale()
        return words.format(
            cached=locale.toString(use.cached_tokens), all=locale.toString(use.input_tokens)
        )

    def _compact(self) -> None:
        if self._button.isEnabled():
            keep = self._keep.text().strip()
            self.close()
            self.compact_requested.emit(keep)


class _Bar(QWidget):
    """The parts side by side, of the whole window if it is known."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._use = ContextUse()
        self.setFixedHeight(theme.icon_px(_BAR))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_use(self, use: ContextUse) -> None:
        self._use = use
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        use, theme, area = self._use, self._theme, QRectF(self.rect())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        outline.addRoundedRect(area, area.height() / 2, area.height() / 2)
        painter.setClipPath(outline)
        painter.fillRect(area, theme.color("active"))
        whole = max(use.window or 0, use.total, 1)
        is_mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        at = 0.0
        for name, token in _PARTS.items():
            share = area.width() * getattr(use, name) / whole
            left = area.width() - at - share if is_mirrored else at
            painter.fillRect(QRectF(left, 0, share, area.height()), theme.color(token))
            at += share
        painter.end()


class _Dot(QWidget):
    """The colour of a part in the bar."""

    def __init__(self, theme: Theme, token: str) -> None:
        super().__init__()
        self._theme = theme
        self._token = token
        self.setFixedSize(theme.icon_px(_DOT), theme.icon_px(_DOT))
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color(self._token))
        painter.drawEllipse(QRectF(self.rect()).adjusted(1, 1, -1, -1))
        painter.end()
