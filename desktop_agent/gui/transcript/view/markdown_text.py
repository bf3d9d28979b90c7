"""One text in Markdown outside the conversation: what a skill says, the answer to a question."""

from __future__ import annotations

from PySide6.QtCore import QSize, QUrl, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import single_timer
from desktop_agent.gui.transcript.document.document import TranscriptDocument
from desktop_agent.gui.transcript.document.highlighting import color_frame
from desktop_agent.gui.transcript.document.markdown_writer import SHOW_ALL
from desktop_agent.gui.transcript.document.styles import Styles
from desktop_agent.gui.transcript.state.items import AnswerItem
from desktop_agent.gui.transcript.view.browser import TranscriptBrowser
from desktop_agent.gui.transcript.view.text_dialogs import ask_to_open, show_text


class MarkdownText(TranscriptBrowser):
    """Shows one text; what is around it scrolls.

    Signals:
        link_agreed(str): the user agreed to open the link
    """

    link_agreed = Signal(str)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._name = name
        self._text = ""
        self._high = 0
        self.ground = "window"
        self.setObjectName("markdownText")
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._shown = TranscriptDocument(self.document(), Styles(theme), lambda _: 0, lambda _: "")
        self.set_page(self._shown)
        self._shown.clear()
        self._colors = single_timer(self, 0, self._color)
        self.resized.connect(self._fit)
        self.anchorClicked.connect(self._on_link)
        theme.changed.connect(self._write_again)

    def set_markdown(self, text: str) -> None:
        """Show this text; one that is shown already stays as it is."""
        if text != self._text:
            self._text = text
            self._write()

    def text(self) -> str:
        return self._text

    def sizeHint(self) -> QSize:
        """As high as the text is at the present width."""
        return QSize(200, self._high)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave scrolling to the parent."""
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave scrolling by keys to the parent; copying works as usual."""
        if event.matches(QKeySequence.StandardKey.Copy):
            super().keyPressEvent(event)
        else:
            event.ignore()

    def _write_again(self) -> None:
        self._shown = TranscriptDocument(
            self.document(), Styles(self._theme), lambda _: 0, lambda _: ""
        )
        self.set_page(self._shown)
        self._write()

    def _write(self) -> None:
        self._shown.clear()
        if self._text.strip():
            self._shown.insert(0, AnswerItem("skill", self._text))
        self._shape_margins()
        self._colors.start(0)
        self._fit()

    def _shape_margins(self) -> None:
        root = self.document().rootFrame()
        shape = root.frameFormat()
        shape.setTopMargin(0)
        shape.setBottomMargin(4)
        root.setFrameFormat(shape)

    def _color(self) -> None:
        for frame in self._shown.take_uncolored():
            color_frame(frame, self._shown.styles)

    def _fit(self) -> None:
        high = round(self.document().size().height()) + 2
        if high != self._high:
            self._high = high
            self.setFixedHeight(high)

    def _on_link(self, url: QUrl) -> None:
        if url.toString() == SHOW_ALL:
            show_text(self._theme, self._name, self._text, self)
        else:
            ask_to_open(self._theme, url, self, self.link_agreed.emit)
