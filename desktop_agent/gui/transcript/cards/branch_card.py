"""The line under a message that has others beside it: which one is shown, and the way to them."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from desktop_agent.gui.kit.widgets import IconButton, TextLabel, row
from desktop_agent.gui.transcript.cards.branch_text import branch_text
from desktop_agent.gui.transcript.cards.card import Card, CardHost, line_height
from desktop_agent.gui.transcript.state.items import BranchItem

_ICON = 14


class BranchCard(Card):
    """`‹ 2/3 ›`, at the end of the line as the message is; Left and Right do it by keys."""

    def __init__(self, host: CardHost, item: BranchItem) -> None:
        super().__init__(host.theme, host.ground, ground="", edge="")
        self._host = host
        self._item = item
        self.setObjectName("branchCard")
        self.setAccessibleName(branch_text(item))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        back = IconButton(
            host.theme,
            "chevron-left",
            self.tr("Previous branch"),
            self,
            size=_ICON,
            keys="←",
            name="previousBranch",
            clicked=partial(self._go, -1),
        )
        on = IconButton(
            host.theme,
            "chevron-right",
            self.tr("Next branch"),
            self,
            size=_ICON,
            keys="→",
            name="nextBranch",
            clicked=partial(self._go, 1),
        )
        count = TextLabel(f"{item.place + 1}/{len(item.heads)}", "muted", self, name="branchPlace")
        count.setAccessibleName(branch_text(item))
        self._buttons = {-1: back, 1: on}
        for step, button in self._buttons.items():
            button.setEnabled(0 <= item.place + step < len(item.heads))
            button.setAccessibleDescription(branch_text(item))
        self.body.addLayout(row(None, back, count, on, spacing=2))

    def height_for(self, width: int) -> int:
        return max(line_height(self._theme), self._theme.size("hit_min"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self._go(step)

    def take_focus(self) -> bool:
        enabled = [button for button in self._buttons.values() if button.isEnabled()]
        if enabled:
            enabled[-1].setFocus(Qt.FocusReason.ShortcutFocusReason)
        return bool(enabled)

    def _go(self, step: int) -> None:
        place = self._item.place + step
        if 0 <= place < len(self._item.heads):
            self._host.branch_chosen.emit(self._item.key, self._item.heads[place])
