"""A question before something is done, in the app's own look."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QLayout, QWidget

from desktop_agent.gui.kit.safe_text import clean
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconLabel, TextButton, TextLabel, column, row

_WIDE = 32  # in widths of the text size
_ICON = 24


class Question(QDialog):
    """`accepted` means that one of the answers added was chosen, and `choice` says which.

    Esc, closing it and Enter, which presses *Cancel*, all mean no.
    """

    def __init__(
        self,
        theme: Theme,
        parent: QWidget,
        *,
        name: str,
        title: str,
        text: str,
        detail: str = "",
        icon: str = "circle-question-mark",
        token: str = "warn",
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self.choice = ""
        self.text, self.detail = text, detail
        self.setObjectName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self.setWindowTitle(title)
        self.setAccessibleName(text)
        self.setAccessibleDescription(detail)
        self.cancel = self._make_button(self.tr("Cancel"), f"{name}Cancel")
        self.cancel.clicked.connect(self.reject)
        self._answers = row(None, self.cancel, spacing=theme.space("s"))
        mark = IconLabel(theme, icon, token, _ICON, self)
        words = column(*self._labels(), spacing=theme.space("s"))
        upper = row((mark, Qt.AlignmentFlag.AlignTop), words, None, spacing=theme.space("m"))
        layout = column(upper, self._answers, spacing=theme.space("l"), edges=theme.space("l"))
        # As high as the words are: there is nothing that a larger one would show.
        layout.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)
        self.setLayout(layout)

    def add(self, text: str, choice: str = "yes", *, name: str = "", icon: str = "") -> TextButton:
        """Add an answer; it stands behind those before it."""
        button = self._make_button(text, name, icon, "err" if icon else "")
        button.setProperty("tone", "danger" if icon else "")
        button.clicked.connect(partial(self._choose, choice))
        self._answers.addWidget(button)
        return button

    def buttons(self) -> list[TextButton]:
        return self.findChildren(TextButton)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.cancel.setFocus(Qt.FocusReason.PopupFocusReason)

    def _labels(self) -> list[QWidget]:
        wide = _WIDE * self._theme.text_px("ui")
        labels = [TextLabel(clean(self.text), "title", self, wraps=True)]
        if self.detail:
            labels.append(TextLabel(clean(self.detail), "muted", self, wraps=True))
        for label in labels:
            label.setFixedWidth(min(wide, self.screen().availableGeometry().width() * 2 // 3))
        return [*labels]

    def _make_button(self, text: str, name: str, icon: str = "", token: str = "") -> TextButton:
        return TextButton(self._theme, text, icon, self, token=token, name=name)

    def _choose(self, choice: str) -> None:
        self.choice = choice
        self.accept()
