"""The list of models that opens at the composer."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from desktop_agent.core.models import DEMO_MODEL, ModelInfo
from desktop_agent.gui.kit.lists.filter_delegate import PickRow
from desktop_agent.gui.kit.lists.filter_list import FilterList, PickField
from desktop_agent.gui.kit.lists.fuzzy import ranked
from desktop_agent.gui.kit.popover import Popover
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconButton, Separator, TextLabel, named, row
from desktop_agent.gui.language_models.text import model_group, model_hints, model_title

translate = QCoreApplication.translate

_WIDTH = 34  # in widths of the text size
_AROUND = 170  # what stands around the list: search, button, edges
_SHOWN = 10
_MAX_FOUND = 100


class ModelPicker(Popover):
    """The models by provider, with a filter.

    Signals:
        chosen(name, api_base): the model to use
        key_requested(provider): for a model without a key
        favourites_changed(tuple[str, ...]): the names of all favourites
        settings_requested: to add a key or a server
        check_requested(ModelInfo): find out how the model does
    """

    chosen = Signal(str, str)
    key_requested = Signal(str)
    favourites_changed = Signal(object)
    settings_requested = Signal()
    check_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, translate("ModelPicker", "Models"), parent)
        self.setObjectName("modelPicker")
        self._models: tuple[ModelInfo, ...] = ()
        self._favourites: tuple[str, ...] = ()
        self._current = ("", "")
        self._is_loading = False
        self._build()
        self._show_rows()

    def set_models(self, models: tuple[ModelInfo, ...]) -> None:
        self._models = tuple(models)
        self._is_loading = False
        self._show_rows()

    def set_loading(self) -> None:
        """Say that providers and servers are being asked; known models stay."""
        self._is_loading = True
        self._show_rows()

    def set_current(self, name: str, api_base: str = "") -> None:
        """Tick the session's model."""
        self._current = (name, api_base)
        self._show_rows()

    def set_favourites(self, names: tuple[str, ...]) -> None:
        self._favourites = tuple(names)
        self._show_rows()

    def open_at(self, anchor: QWidget) -> None:
        """Open above the anchor, ready to type."""
        self.search.clear()
        self._show_rows()
        self.open_below(anchor, above=True)
        self.search.setFocus(Qt.FocusReason.PopupFocusReason)

    def _build(self) -> None:
        theme = self._theme
        self.list = named(FilterList(theme, self.tr("Models"), self), "modelList")
        self.list.picked.connect(self._on_picked)
        self.search = PickField(theme, self.tr("Find a model"), self.list, self)
        self.search.setObjectName("modelSearch")
        self.search.textChanged.connect(self._show_rows)
        self.search.left.connect(self.close)
        self._empty = TextLabel("", "subtle", self, wraps=True)
        self._empty.setContentsMargins(8, 8, 8, 8)
        self._add = GhostButton(theme, self.tr("Add a key or a server…"), "plus", self)
        self._add.setObjectName("addModelSource")
        self._add.clicked.connect(self._on_add)
        words = self.tr("Mark as favourite (Ctrl+D)")
        self._star = IconButton(theme, "star", words, self, size=14, name="favouriteButton")
        self._star.clicked.connect(self._toggle_favourite)
        words = self.tr("Check this model: context, tools, speed")
        self._check = IconButton(theme, "gauge", words, self, size=14, name="checkModel")
        self._check.clicked.connect(self._on_check)
        shortcut = QShortcut(QKeySequence("Ctrl+D"), self)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(self._toggle_favourite)
        for part in (self.search, self.list, self._empty, Separator(self)):
            self.body.addWidget(part)
        self.body.addLayout(row(self._add, None, self._check, self._star))

    def _show_rows(self) -> None:
        query = self.search.text().strip()
        rows = self._found(query) if query else self._grouped()
        name, base = self._current
        self.list.show_rows(rows, "" if query else _key(name, base))
        self.list.setVisible(bool(rows))
        room = max(self.window().height() - _AROUND, 100)
        self.list.setFixedHeight(min(self.list.height_for(_SHOWN), room))
        wide = _WIDTH * self._theme.text_px("ui")
        self._frame.setFixedWidth(max(200, min(wide, self.window().width() - 2 * self._MARGIN)))
        self._empty.setText(self._empty_text(query))
        self._empty.setVisible(not rows or self._is_loading)
        self._star.setEnabled(bool(rows))
        self._check.setEnabled(bool(rows))
        # The frame has to know its new height before the popover takes its size.
        self.body.activate()
        self.place()

    def _empty_text(self, query: str) -> str:
        if self._is_loading:
            return self.tr("Looking for models…")
        if query:
            return self.tr("No model matches “{query}”").format(query=query)
        return self.tr("No models yet. Add a key, or start a model server on this computer.")

    def _found(self, query: str) -> tuple[PickRow, ...]:
        def text(model: ModelInfo) -> str:
            return f"{model_title(model)} {model_group(model)} {model.name}"

        models = ranked(query, self._models, text)[:_MAX_FOUND]
        return tuple(self._row(model, shows_group=True) for model in models)

    def _grouped(self) -> tuple[PickRow, ...]:
        rows: list[PickRow] = []
        starred = [model for model in self._models if model.name in self._favourites]
        if starred:
            rows.append(PickRow("#favourites", self.tr("Favourites"), is_heading=True))
            rows.extend(self._row(model, shows_group=True) for model in starred)
        groups: dict[str, list[ModelInfo]] = {}
        for model in self._models:
            if model not in starred:
                groups.setdefault(model_group(model), []).append(model)
        for title, models in groups.items():
            rows.append(PickRow(f"#{title}", title, is_heading=True))
            rows.extend(self._row(model) for model in models)
        return tuple(rows)

    def _row(self, model: ModelInfo, *, shows_group: bool = False) -> PickRow:
        hints = model_hints(model)
        detail = " · ".join(filter(None, (model_group(model), hints))) if shows_group else hints
        tag, tone = self._tag(model)
        icon = "play" if model.name == DEMO_MODEL else "server" if model.api_base else "sparkles"
        return PickRow(
            _key(model.name, model.api_base),
            model_title(model),
            detail or model.name,
            icon,
            tag,
            tone,
            tip=" · ".join(filter(None, (model.name, model.api_base, hints))),
            is_current=(model.name, model.api_base) == self._current,
            is_favourite=model.name in self._favourites,
            value=model,
        )

    def _tag(self, model: ModelInfo) -> tuple[str, str]:
        if not model.is_ready and not model.api_base:
            return self.tr("Add key…"), "accent"
        if model.has_tools is False:
            return self.tr("no tools"), "warn"
        return "", "muted"

    def _on_picked(self, picked: PickRow) -> None:
        model: ModelInfo = picked.value
        self.close()
        if not model.is_ready and not model.api_base:
            self.key_requested.emit(model.provider or model.name.partition("/")[0])
        else:
            self.chosen.emit(model.name, model.api_base)

    def _on_add(self) -> None:
        self.close()
        self.settings_requested.emit()

    def _on_check(self) -> None:
        current = self.list.current
        if current is not None:
            model: ModelInfo = current.value
            self.close()
            self.check_requested.emit(model)

    def _toggle_favourite(self) -> None:
        current = self.list.current
        if current is None:
            return
        name = current.value.name
        others = tuple(one for one in self._favourites if one != name)
        self._favourites = others if name in self._favourites else (*others, name)
        self._show_rows()
        self.favourites_changed.emit(self._favourites)


def _key(name: str, api_base: str) -> str:
    return f"{name}\n{api_base}"
