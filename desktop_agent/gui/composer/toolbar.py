"""The composer's bottom row: attach, mention, model, mode, meter, and the ways to send."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QEvent, QLocale, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QMenu, QWidget

from desktop_agent.core.sandbox import SandboxState
from desktop_agent.gui.composer.mode_button import ModeButton
from desktop_agent.gui.composer.sandbox_button import SandboxButton
from desktop_agent.gui.kit.menu_button import MenuButton
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.text import with_plural
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    EnterPresses,
    GhostButton,
    IconButton,
    PrimaryButton,
    TextButton,
    TextLabel,
    named,
    restyle,
    row,
)
from desktop_agent.gui.language_models.text import short_count

_MIN_WIDTH = 240
_GAP = 4
_NAME = 16
# What is given up first when there is little room: cost, model's name, mode's name, …
_MODEL_WIDTHS = (220, 220, 130, 130, 90, 90, 60)
_RING = 3


class SendState(msgspec.Struct, frozen=True):
    """What the send slot depends on. `cuts` names what a stop would cut.

    `scope` names who would be stopped, and `others` counts the live ones below; it is empty
    where there is only one.
    """

    is_running: bool = False
    is_stopping: bool = False
    has_content: bool = False
    is_reading: bool = False
    steers_first: bool = False
    cuts: str = ""
    scope: str = ""
    others: int = 0
    keys: tuple[str, str] = ("", "")


class ComposerBar(QWidget):
    """Shows what fits of its buttons. `sent` is true for the other way of sending."""

    sent = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._model_title = ""
        self._state = SendState()
        self._dollars: float | None = None
        self._tokens: int | None = None
        self._has_width = False
        self._name_width = 0
        self._make_left()
        self._make_right()
        self._lay_out()
        self.set_model("")
        self._show_state()

    def _make_left(self) -> None:
        theme = self._theme
        self.attach = IconButton(theme, "paperclip", self.tr("Attach files"), name="attachButton")
        self.mention = IconButton(theme, "at-sign", self.tr("Mention a file"), name="mentionButton")
        self.model = named(MenuButton(theme, "sparkles"), "modelButton")
        self.mode = ModeButton(theme)
        self.sandbox = SandboxButton(theme)

    def _make_right(self) -> None:
        theme = self._theme
        self.cost = TextLabel("", "subtle", name="costLabel")
        self.meter = GhostButton(theme, "", name="contextMeter")
        self.meter.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.send = named(RoundButton(theme, self.tr("Send message")), "sendButton")
        self.stop = TextButton(theme, self.tr("Stop"), "square", name="stopButton")
        self.second = TextButton(theme, "", name="secondButton")
        self.second.clicked.connect(lambda: self.sent.emit(True))
        self.first = PrimaryButton(theme, "", name="firstButton")
        for button in (self.send, self.first):
            button.clicked.connect(lambda: self.sent.emit(False))
        self.more = IconButton(theme, "chevron-up", self.tr("More ways to send"), size=14)
        self.more.setObjectName("moreButton")
        menu = named(QMenu(self.more), "sendMenu", self.tr("More ways to send"))
        self.cut = menu.addAction("")
        self.cut.setObjectName("stopAndSend")
        self.halt = menu.addAction(self.tr("Stop, keep what I typed"))
        self.halt.setObjectName("stopOnly")
        self.more.setMenu(menu)
        self.more.setPopupMode(IconButton.ToolButtonPopupMode.InstantPopup)
        theme.changed.connect(self._paint_menu)
        self._paint_menu()

    def _lay_out(self) -> None:
        leading = (self.attach, self.mention, self.model, self.mode, self.sandbox)
        trailing = (self.cost, self.meter, self.second, self.first, self.more, self.stop, self.send)
        self._placed: tuple[QWidget, ...] = leading + trailing
        self.cost.setContentsMargins(0, 0, 8, 0)
        self.setLayout(row(*leading, None, *trailing, spacing=_GAP))
        # As high as its highest button, though another takes that one's place while work goes on.
        self._theme.changed.connect(self._keep_height)
        self._keep_height()

    def _keep_height(self) -> None:
        self.setMinimumHeight(self.send.sizeHint().expandedTo(self.send.minimumSize()).height())

    def show_state(self, state: SendState) -> None:
        """Show the one way to send or stop that fits."""
        if state != self._state:
            self._state = state
            self._show_state()

    def _show_state(self) -> None:
        state = self._state
        chooses = state.is_running and state.has_content
        stops = state.is_running and not state.has_content
        for widget, shown in (
            (self.send, not state.is_running),
            (self.stop, stops),
            (self.first, chooses),
            (self.second, chooses),
            (self.more, chooses),
        ):
            widget.setVisible(shown)
        self.send.setEnabled(state.has_content)
        self.cut.setEnabled(not state.is_reading)
        self._name_stop(state)
        self._name_ways(state)
        self._fit()

    def _name_stop(self, state: SendState) -> None:
        self.stop.setEnabled(not state.is_stopping)
        self.halt.setEnabled(not state.is_stopping)
        tip = self.tr("Stop (Ctrl+.)")
        if state.others:
            tip = self.tr("Stops it and %n subagent(s) (Ctrl+.)", "", state.others)
            tip = with_plural(tip, state.others)
        elif state.cuts:
            tip = self.tr("Stop (Ctrl+.) – cuts {what}").format(what=state.cuts)
        self.stop.setToolTip(plain_tip(tip))
        words = self.tr("Stop and send now")
        if state.cuts:
            words = self.tr("Stop and send now – cuts {what}").format(what=_short(state.cuts))
        self.cut.setText(words.replace("&", "&&"))

    def _stop_text(self, state: SendState) -> str:
        if state.is_stopping:
            return self.tr("Stopping…")
        if not state.scope:
            return self.tr("Stop")
        name = _short(state.scope, _NAME).replace("&", "&&")
        if not state.others:
            return self.tr("Stop {name}").format(name=name)
        return self.tr("Stop {name} + {count}").format(name=name, count=state.others)

    def _name_ways(self, state: SendState) -> None:
        queue = (self.tr("Queue"), self.tr("Read after this turn"))
        steer = (self.tr("Steer"), self.tr("Read at the next step, without stopping it"))
        steer_now = (self.tr("Steer now"), steer[1])
        pair = (steer, queue) if state.steers_first else (queue, steer_now)
        for button, (name, meaning), key in zip(
            (self.first, self.second), pair, state.keys, strict=True
        ):
            button.set_text(name)
            button.setToolTip(f"{meaning} ({key})" if key else meaning)
            button.setAccessibleDescription(meaning)
        key = state.keys[0]
        self.send.setToolTip(self.tr("Send ({key})").format(key=key) if key else self.tr("Send"))

    def set_model(self, title: str) -> None:
        """Show the model's name, or that one has to be chosen."""
        self._model_title = title
        name = self.tr("Model: {title}").format(title=title) if title else self._model_text()
        self.model.set_icon("sparkles", "muted" if title else "warn")
        self._fit()
        self.model.setAccessibleName(name)
        self.model.setToolTip(plain_tip(name))

    def _model_text(self) -> str:
        return self._model_title or self.tr("Choose a model")

    def show_context(self, tokens: int | None, limit: int | None) -> None:
        """Show how full the model's context is; nothing when that is unknown."""
        self._tokens = tokens
        if tokens is None:
            self._fit()
            return
        if not limit:
            shown = self.tr("{count} tokens").format(count=short_count(tokens))
            self._show_meter(shown, self.tr("The last request. The model's limit is not known."))
            return
        percent, locale = round(100 * tokens / limit), QLocale()
        words = self.tr("{tokens} of {limit} tokens in the last request")
        words = words.format(tokens=locale.toString(tokens), limit=locale.toString(limit))
        tone = "danger" if percent >= 95 else "warn" if percent >= 80 else ""
        self._show_meter(self.tr("{percent}% context").format(percent=percent), words, tone)

    def _show_meter(self, shown: str, explained: str, tone: str = "") -> None:
        self.meter.set_text(shown)
        self.meter.setToolTip(explained)
        self.meter.setAccessibleDescription(explained)
        if self.meter.property("tone") != tone:
            self.meter.setProperty("tone", tone)
            restyle(self.meter)
        self._fit()

    def show_sandbox(self, state: SandboxState | None, *, is_machine: bool) -> None:
        """Show whether commands are contained; nothing before it is known."""
        if self.sandbox.show_sandbox(state, is_machine=is_machine):
            self._fit()

    def show_cost(self, dollars: float | None) -> None:
        """Show what the session has cost; nothing when no price is known."""
        self._dollars = dollars
        if dollars:
            text = f"${dollars:.2f}" if dollars >= 0.01 else self.tr("under $0.01")
            self.cost.setText(text)
            self.cost.setToolTip(self.tr("This session so far, by the provider's prices"))
        self._fit()

    def minimumSizeHint(self) -> QSize:
        """Less than the words need: they are given up one after another."""
        return QSize(_MIN_WIDTH, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._has_width = True
        self._fit()

    def _fit(self) -> None:
        if not self._has_width:
            return  # measured at the first layout; the start of the app has no time to do it twice
        for tier in range(len(_MODEL_WIDTHS)):
            self._show_tier(tier)
            spare = self.width() - self._needed()
            if spare >= 0:
                # What is left over is the model's name's.
                most = self._theme.icon_px(_MODEL_WIDTHS[0])
                self._name_model(min(self._name_width + spare, most))
                return

    def _show_tier(self, tier: int) -> None:
        self.cost.setVisible(bool(self._dollars) and tier < 1)
        self._name_model(_MODEL_WIDTHS[tier])
        self.mode.set_narrow(tier >= 3)
        self.sandbox.set_narrow(tier >= 2)
        self.sandbox.setVisible(self.sandbox.is_known and tier < 6)
        self.meter.setVisible(self._tokens is not None and tier < 5)
        self.mention.setVisible(tier < 5)
        self.attach.setVisible(tier < 6)
        whole = self._stop_text(self._state)
        brief = self._state.scope and not self._state.is_stopping and tier >= 4
        self.stop.set_text(self.tr("Stop") if brief else whole)
        self.stop.setAccessibleName(whole.replace("&&", "&"))

    def _name_model(self, limit: int) -> None:
        metrics, name = self.model.fontMetrics(), self.model.accessibleName()
        shown = metrics.elidedText(self._model_text(), Qt.TextElideMode.ElideMiddle, limit)
        self._name_width = metrics.horizontalAdvance(shown)
        self.model.set_text(shown)
        self.model.setAccessibleName(name)

    def _needed(self) -> int:
        shown = [widget for widget in self._placed if widget.isVisibleTo(self)]
        return sum(widget.sizeHint().width() + _GAP for widget in shown)

    def _paint_menu(self) -> None:
        self.cut.setIcon(self._theme.icon("zap", "err"))
        self.halt.setIcon(self._theme.icon("square", "muted"))


def _short(words: str, limit: int = 60) -> str:
    return words if len(words) <= limit else f"{words[: limit - 1]}…"


class RoundButton(EnterPresses, QAbstractButton):
    """A filled circle with an arrow, and a ring around it while it has the focus."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedSize(self.sizeHint())
        theme.changed.connect(self._fit)

    def sizeHint(self) -> QSize:
        """The circle and room for the ring."""
        side = self._theme.size("send") + 2 * _RING
        return QSize(side, side)

    def _fit(self) -> None:
        self.setFixedSize(self.sizeHint())
        self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        circle = QRectF(self.rect()).adjusted(_RING, _RING, -_RING, -_RING)
        painter.setPen(Qt.PenStyle.NoPen)
        fill = theme.color("accentFill" if self.isEnabled() else "active")
        if self.isEnabled() and (self.isDown() or self.underMouse()):
            fill = fill.darker(118 if self.isDown() else 108)
        painter.setBrush(fill)
        painter.drawEllipse(circle)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.drawEllipse(QRectF(self.rect()).adjusted(1, 1, -1, -1))
        token = "onAccent" if self.isEnabled() else "muted"
        size = theme.icon_px(18)
        pixmap = theme.pixmap("arrow-up", token, size, self.devicePixelRatioF())
        corner = circle.center()
        painter.drawPixmap(round(corner.x() - size / 2), round(corner.y() - size / 2), pixmap)
        painter.end()
