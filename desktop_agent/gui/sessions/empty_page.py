"""What a session shows before its first message: three things to ask for in this folder."""

from __future__ import annotations

import threading
from pathlib import PurePath

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.gui.kit.background import Relay
from desktop_agent.gui.kit.example_prompts import demo_prompts, example_prompts, folder_names
from desktop_agent.gui.kit.fitted_area import PlainArea
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconLabel, PushButton, TextLabel, column, row

_COLUMN = 520


class PromptButton(PushButton):
    """One example; its text wraps."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("examplePrompt")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.words = TextLabel("", "", wraps=True)
        self.words.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        icon = IconLabel(theme, "arrow-right", "subtle", 14)
        icon.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._inner = row(self.words, icon, spacing=12, stretch=0, edges=(14, 11, 12, 11))
        self.setLayout(self._inner)

    def sizeHint(self) -> QSize:
        """Take the room of the label, not of a button's text."""
        return self._inner.sizeHint()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._inner.heightForWidth(width)

    def set_prompt(self, prompt: str) -> None:
        self.words.setText(prompt)
        self.setAccessibleName(prompt)


class EmptySession(QWidget):
    """Shown while a session has no message.

    Signals:
        prompt_chosen(text): put it into the composer; it is not sent by itself
    """

    prompt_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None, model: str = "") -> None:
        super().__init__(parent)
        self._asked, self._model = 0, model
        self._names: tuple[str, ...] = ()
        self.setObjectName("emptySession")
        self._title, self._about = TextLabel("", "h1"), TextLabel("", "muted")
        for label in (self._title, self._about):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
        self._buttons = tuple(PromptButton(theme, self) for _ in range(3))
        for button in self._buttons:
            button.clicked.connect(
                lambda _=False, one=button: self.prompt_chosen.emit(one.words.text())
            )
        # Nothing is offered before the folder and its files are known.
        self._column = QWidget(maximumWidth=_COLUMN)
        self._column.setLayout(column(self._title, self._about, 12, *self._buttons, spacing=8))
        self._column.hide()
        # In line with the message box, which leaves room for the transcript's scroll bar.
        bar = theme.size("scrollbar")
        layout = row(None, self._column, None, bar, spacing=-1, edges=(24, 24, 24, 24))
        layout.setStretch(1, 1000)
        layout.setAlignment(self._column, Qt.AlignmentFlag.AlignVCenter)
        inner = QWidget(self)
        inner.setLayout(layout)
        # The message box may need the room, as for a form in large text.
        self.setLayout(column(PlainArea(inner), spacing=0, edges=0))
        self._relay = Relay()
        self._relay.done.connect(self._on_listed, Qt.ConnectionType.QueuedConnection)

    def set_model(self, model: str) -> None:
        """Offer the demo model, which is a script, only what it understands."""
        if model != self._model:
            self._model = model
            if not self._column.isHidden():
                self._show(self._names)

    def set_folder(self, folder: str) -> None:
        """Offer prompts for this folder's files; the folder is listed beside the window."""
        text = self.tr("What should be done in {folder}?")
        self._title.setText(text.format(folder=PurePath(folder).name or folder))
        # A daemon: a network disk that hangs must not keep the app from ending.
        self._asked += 1
        work = (self._relay, self._asked, folder)
        threading.Thread(target=_list, args=work, daemon=True).start()

    def _on_listed(self, number: int, names: tuple[str, ...]) -> None:
        if number == self._asked:
            self._show(names)

    def _show(self, names: tuple[str, ...]) -> None:
        self._names = names
        if self._model == DEMO_MODEL:
            self._about.setText(self.tr("The demo model is a script. This is what it understands."))
            offers = demo_prompts()
        else:
            self._about.setText(self.tr("Ask for anything, or begin with one of these."))
            offers = example_prompts(names)
        for button, prompt in zip(self._buttons, offers, strict=True):
            button.set_prompt(prompt)
        self._column.show()


def _list(relay: Relay, number: int, folder: str) -> None:
    relay.done.emit(number, folder_names(folder))
