"""Cards that unfold: the model's reasoning, a subagent's report, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.safe_text import clean, with_marks, without_direction_marks
from desktop_agent.gui.kit.text import plain, plain_words, unmarked
from desktop_agent.gui.kit.widgets import GhostButton, row
from desktop_agent.gui.transcript.cards.card import CardHost, HeaderCard
from desktop_agent.gui.transcript.cards.changes_card import scope_of_agent, undo_buttons
from desktop_agent.gui.transcript.cards.changes_text import undone_text
from desktop_agent.gui.transcript.cards.diff_view import DiffView
from desktop_agent.gui.transcript.cards.output_view import OutputView
from desktop_agent.gui.transcript.cards.row_text import (
    agent_message_text,
    compaction_text,
    ended_text,
)
from desktop_agent.gui.transcript.state.items import (
    AgentMessageItem,
    CompactionItem,
    ThinkingItem,
)

_ICONS = {"completed": "ok", "failed": "failed", "stopped": "stopped", "over_budget": "stopped"}


class FoldCard(HeaderCard):
    """A line that unfolds to its details, with buttons below them."""

    limit = 320
    inset = 0
    foot_margins = (0, 0)

    def __init__(self, host: CardHost, key: str, *, flat: bool = False) -> None:
        super().__init__(host.theme, host.ground, flat=flat)
        self.host = host
        self._key = key
        self._details: OutputView | DiffView | None = None
        self._foot: QWidget | None = None
        self.body.addStretch(1)
        self.header.unfolded.connect(self._on_toggled)

    def height_for(self, width: int) -> int:
        height = super().height_for(width)
        if self._details is not None:
            room = self._details.content_height(width - self.inset, self.limit)
            self._details.setFixedHeight(room)
            height += room
        return height + (self._foot.sizeHint().height() if self._foot is not None else 0)

    def make_details(self) -> tuple[OutputView | DiffView, Sequence[QWidget]]:
        """Return what the card unfolds to, and the buttons below it."""
        view = OutputView(self._theme, self.details_name, self, mono=False)
        view.set_text(self.details_text)
        return view, ()

    @property
    def details_name(self) -> str:
        """What a screen reader calls the details."""
        return self.header.verb

    @property
    def details_text(self) -> str:
        """What the line of the header may show only in part."""
        return self.header.target

    def unfold(self) -> None:
        self.fold()
        details, buttons = self.make_details()
        self._details = details
        self.body.insertWidget(1, details)
        details.show()
        if buttons:
            self._foot = foot = QWidget(self)
            across, down = self.foot_margins
            line = row(*buttons, None, spacing=4)
            line.setContentsMargins(across, down, across, down)
            foot.setLayout(line)
            self.body.insertWidget(2, foot)
            foot.show()

    def fold(self) -> None:
        for part in (self._details, self._foot):
            if part is not None:
                self.body.removeWidget(part)
                part.hide()
                part.deleteLater()
        self._details = self._foot = None

    def _on_toggled(self, is_unfolded: bool) -> None:
        (self.unfold if is_unfolded else self.fold)()
        self.host.unfolded[self._key] = is_unfolded
        self.resized.emit()


class ThinkingCard(FoldCard):
    """The model's reasoning, collapsed to one quiet line."""

    limit = 280

    def __init__(self, host: CardHost, item: ThinkingItem) -> None:
        super().__init__(host, item.key, flat=True)
        self._item = item
        self.setObjectName("thinkingCard")
        self.header.setObjectName("thinkingHeader")
        self.header.icon_name = "brain"
        self.set_item(item)
        self.header.set_open(host.unfolded.get(item.key, False))

    @property
    def is_live(self) -> bool:
        return self._item.is_live

    def set_item(self, item: ThinkingItem) -> None:
        self._item = item
        self.header.verb = self.tr("Thinking…") if item.is_live else self.tr("Thoughts")
        self.header.state = "running" if item.is_live else ""
        self.set_name(self.header.verb)
        self.header.update()
        if isinstance(self._details, OutputView):
            self._details.set_text(self.details_text)

    @property
    def details_name(self) -> str:
        return self.tr("Thoughts")

    @property
    def details_text(self) -> str:
        return clean(without_direction_marks(self._item.text)).strip()


class ReportCard(FoldCard):
    """The report that a subagent ended with."""

    inset = 24

    def __init__(self, host: CardHost, item: AgentMessageItem) -> None:
        super().__init__(host, item.key)
        self._item = item
        self.setObjectName("reportCard")
        header = self.header
        header.setObjectName("reportHeader")
        header.icon_name = "bot"
        header.is_prose = True
        header.verb = with_marks(plain(item.name))
        header.target = plain_words(item.text)[:300]
        changes = item.changes
        header.meta = ended_text(item.state)
        if changes is not None and changes.is_undone:
            header.meta = undone_text()
        header.counts = (changes.added, changes.removed) if changes is not None else None
        header.meta_token = "err" if item.state == "failed" else "subtle"
        header.state = _ICONS.get(item.state, "ok")
        header.can_unfold = bool(item.text)
        self.set_name(agent_message_text(item))
        header.set_open(bool(item.text) and host.unfolded.get(item.key, False))

    @property
    def details_name(self) -> str:
        return self.tr("Report")

    @property
    def details_text(self) -> str:
        return clean(without_direction_marks(self._item.text))

    def make_details(self) -> tuple[OutputView | DiffView, Sequence[QWidget]]:
        view, _ = super().make_details()
        button = GhostButton(self._theme, self.tr("Open transcript"), "external-link")
        button.setObjectName("openReporter")
        command = self.host.command_requested
        button.clicked.connect(lambda: command.emit(self._item.agent_id, "open", ""))
        scope = scope_of_agent(self.host, self._item.agent_id)
        return view, (
            button,
            *undo_buttons(self.host, self._item.changes, scope, self, is_short=True),
        )


class CompactionCard(FoldCard):
    """What stands for messages that the model does not get any more."""

    def __init__(self, host: CardHost, item: CompactionItem) -> None:
        super().__init__(host, item.key, flat=True)
        self._item = item
        self.setObjectName("compactionCard")
        header = self.header
        header.setObjectName("compactionHeader")
        header.icon_name = "history"
        header.verb, header.target = compaction_text(item)
        self.set_name(f"{header.verb}, {header.target}")
        header.set_open(host.unfolded.get(item.key, False))

    @property
    def details_name(self) -> str:
        return self.tr("What the agent gets instead")

    @property
    def details_text(self) -> str:
        return unmarked(clean(without_direction_marks(self._item.text)))

    def make_details(self) -> tuple[OutputView | DiffView, Sequence[QWidget]]:
        view, _ = super().make_details()
        item, buttons = self._item, list[QWidget]()
        if item.is_current:
            undo = GhostButton(self._theme, self.tr("Undo"), "undo-2", name="undoCompaction")
            command = self.host.command_requested
            undo.clicked.connect(
                lambda: command.emit("", "undo_compaction", self._item.compaction_id)
            )
            buttons.append(undo)
        if item.count:
            words = self.tr("Show the original")
            show = GhostButton(self._theme, words, "arrow-up", name="showOriginal")
            show.clicked.connect(self._show_original)
            buttons.append(show)
        return view, buttons

    def _show_original(self) -> None:
        """Scroll to where begins what the summary stands for."""
        before = ""
        for item in self.host.transcript.items:
            if item.key == self._item.key:
                break
            if isinstance(item, CompactionItem) and not item.is_undone:
                before = ""
            elif not before:
                before = item.key
        if before:
            self.host.row_wanted.emit(before)
