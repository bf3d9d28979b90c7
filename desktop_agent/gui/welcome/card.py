"""A card of the first-run page: what was found or can be done, and the one button for it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFrame, QVBoxLayout, QWidget

from desktop_agent.core.models import ModelInfo
from desktop_agent.gui.kit.accessible import NamedChoice
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconLabel, TextLabel, column, row
from desktop_agent.gui.language_models.text import best_model, can_work, model_hints, model_title

_ICON, _GAP = 20, 12


class Card(QFrame):
    """Icon, title and a sentence; `add_trailing` puts widgets beside it, `body` below."""

    def __init__(
        self, theme: Theme, name: str, icon: str, title: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName(name)
        self.setProperty("frame", "card")
        self.setAccessibleName(title)
        self._icon = IconLabel(theme, icon, "accent", _ICON)
        self._title = TextLabel(title, "title", wraps=True)
        self._detail = TextLabel("", "muted", wraps=True)
        words = column(self._title, self._detail, spacing=2)
        self._head = row((self._icon, Qt.AlignmentFlag.AlignTop), (words, 1), spacing=_GAP)
        self.body = QVBoxLayout()
        self.body.setSpacing(8)
        column(self._head, self.body, spacing=10, edges=(16, 14, 16, 14), within=self)
        self.set_detail("")
        theme.changed.connect(self._indent)
        self._indent()

    def _indent(self) -> None:
        """Begin the body where the words begin."""
        self.body.setContentsMargins(self._theme.icon_px(_ICON) + _GAP, 0, 0, 0)

    def add_trailing(self, widget: QWidget) -> None:
        """Put a button at the trailing end of the title's line."""
        self._head.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)

    def set_title(self, title: str) -> None:
        self._title.setText(title)
        self.setAccessibleName(title)

    def set_detail(self, detail: str) -> None:
        """Show a sentence under the title, or none."""
        self._detail.setText(detail)
        self._detail.setVisible(bool(detail))

    def set_icon(self, icon: str, token: str) -> None:
        self._icon.set_icon(icon, token)


def step_column(step: QWidget, title: str, about: str) -> QVBoxLayout:
    """Begin a step of the first run with what it is about; its cards come below."""
    layout = column(spacing=12, within=step)
    for words, role in ((title, "h1"), (about, "muted")):
        label = TextLabel(words, role, wraps=True)
        layout.addWidget(label)
    return layout


class ModelCombo(NamedChoice):
    """Models to choose from, the best one chosen; those without tools come last and say so."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName("modelCombo")
        self.setAccessibleName(name)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(18)
        self.setMaxVisibleItems(14)

    def set_models(self, models: tuple[ModelInfo, ...]) -> None:
        before = self.model_info()
        self.clear()
        for model in sorted(models, key=lambda one: not can_work(one)):
            words = model_title(model)
            if model.has_tools is False:
                words = self.tr("{model} (no tools)").format(model=words)
            self.addItem(words, model)
            tip = " · ".join(filter(None, (model.name, model_hints(model))))
            self.setItemData(self.count() - 1, plain_tip(tip), Qt.ItemDataRole.ToolTipRole)
        wanted = before if before in models else best_model(models)
        for number in range(self.count()):
            if self.itemData(number) == wanted:
                self.setCurrentIndex(number)

    def model_info(self) -> ModelInfo | None:
        chosen = self.currentData()
        return chosen if isinstance(chosen, ModelInfo) else None
