"""The form that takes a place: a name, its kind, and what reaches it."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from desktop_agent import __version__
from desktop_agent.core.network.places import (
    LONGEST_NAME,
    Place,
    PlaceCheck,
    PlaceKind,
    is_place_name,
    is_target,
)
from desktop_agent.gui.kit.check_line import CheckLine
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextButton, TextLabel, column, named
from desktop_agent.gui.settings.place_text import (
    installing_words,
    kind_titles,
    show_problem,
    target_words,
)
from desktop_agent.gui.settings.rows import ChoiceBox

_LONGEST_TARGET = 2000


class PlaceForm(QWidget):
    """Adds a place, or changes one.

    Signals:
        check_requested(Place), install_requested(Place): answered by `set_result`
        accepted(Place, Place | None): a place was tested, or is saved untested; and what it
            replaces
    """

    check_requested = Signal(object)
    install_requested = Signal(object)
    accepted = Signal(object, object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("placeForm")
        self._taken: frozenset[str] = frozenset()
        self._edited: Place | None = None
        self._asked: Place | None = None
        self._name = named(Line(), "placeName", self.tr("Name of the place"))
        self._name.setPlaceholderText(self.tr("Name, such as box"))
        self._name.setMaxLength(LONGEST_NAME)
        self._kind = ChoiceBox("placeKind", tuple(kind_titles().items()))
        self._kind.setAccessibleName(self.tr("Kind of place"))
        self._kind.currentIndexChanged.connect(self._on_kind)
        self._target = named(Line(), "placeTarget")
        self._target.setMaxLength(_LONGEST_TARGET)
        self._target.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        # The box does not wrap its words, and no part of the page may be wider than a small window.
        words = self.tr("Use its Ray cluster")
        self._has_ray = named(QCheckBox(words), "placeHasRay", words)
        meaning = self.tr("Spread work over the Ray cluster it is a node of")
        self._has_ray.setToolTip(meaning)
        self._has_ray.setAccessibleDescription(meaning)
        self._has_ray.toggled.connect(self._on_edited)
        self._title = TextLabel("", "strong", name="placeFormTitle")
        self._save = TextButton(theme, "", name="testPlaceForm", clicked=self._check)
        self._cancel = GhostButton(theme, self.tr("Cancel"), name="cancelPlace")
        self._cancel.clicked.connect(self.clear)
        self.line = CheckLine(theme, self)
        self.line.forced.connect(self._accept)
        self.line.mended.connect(self._install)
        for field in (self._name, self._target):
            field.returnPressed.connect(self._check)
            field.textChanged.connect(self._on_edited)
        self.setFocusProxy(self._name)
        self._lay_out()
        self._on_kind()
        self.clear()

    def _lay_out(self) -> None:
        first, last = QWidget(), QWidget()
        head, tail = FlowLayout(first, 8), FlowLayout(last, 8)
        for widget in (self._name, self._kind):
            head.addWidget(widget)
        for widget in (self._save, self._cancel):
            tail.addWidget(widget)
        column(
            self._title, first, self._target, self._has_ray, last, self.line, spacing=8, within=self
        )

    def set_taken(self, names: Collection[str]) -> None:
        """Know which names other places have."""
        self._taken = frozenset(name.casefold() for name in names)

    def edit(self, place: Place) -> None:
        """Show a place, to change it."""
        self.clear()
        self._edited = place
        self._name.setText(place.name)
        self._kind.set_value(place.kind)
        self._target.setText(place.target)
        self._has_ray.setChecked(place.has_ray)
        self._show_purpose()
        self._name.setFocus(Qt.FocusReason.OtherFocusReason)

    def clear(self) -> None:
        """Be empty, for a new place."""
        self._edited = self._asked = None
        self._name.clear()
        self._target.clear()
        self._has_ray.setChecked(False)
        self.line.clear()
        self._lock(False)
        self._show_purpose()

    def set_result(self, place: Place, check: PlaceCheck) -> None:
        if place != self._asked or not self.line.is_busy:
            return
        if not check.problem:
            self._accept()
            return
        show_problem(self.line, place, check, can_force=True)
        self._lock(False)

    def _check(self) -> None:
        place, wrong = self._entered()
        if self.line.is_busy:
            return
        if wrong:
            self.line.show_missing(wrong)
            return
        self._asked = place
        old = self._edited
        if old is not None and replace(old, name=place.name) == place:
            self._accept()  # another name alone needs no test
            return
        self.line.show_busy(self.tr("Reaching {name}…").format(name=place.name))
        self._lock(True)
        self.check_requested.emit(place)

    def _install(self) -> None:
        if (place := self._asked) is not None and not self.line.is_busy:
            self.line.show_busy(installing_words(place, __version__))
            self._lock(True)
            self.install_requested.emit(place)

    def _entered(self) -> tuple[Place, str]:
        """Return the place, and what is wrong with what was entered."""
        kind: PlaceKind = self._kind.currentData()
        name, target = self._name.text().strip(), self._target.text().strip()
        place = Place(name, kind, target, self._has_ray.isChecked())
        own = self._edited.name.casefold() if self._edited is not None else ""
        if not is_place_name(place.name):
            return place, self.tr("A name is one word of letters, digits, “.”, “-” and “_”.")
        if place.name.casefold() in self._taken - {own}:
            words = self.tr("There is a place called {name} already.")
            return place, words.format(name=place.name)
        if not is_target(place.kind, place.target):
            return place, self.tr("What reaches it is missing, or can't be read: {what}.").format(
                what=target_words(kind)[0]
            )
        return place, ""

    def _accept(self) -> None:
        place, old = self._asked, self._edited
        if place is None:
            return
        self.clear()
        self.line.show_ok(self.tr("{name} was saved.").format(name=place.name))
        self.accepted.emit(place, old)

    def _lock(self, is_locked: bool) -> None:
        self._name.setReadOnly(is_locked)
        self._target.setReadOnly(is_locked)
        self._kind.setEnabled(not is_locked)
        self._has_ray.setEnabled(not is_locked)
        self._save.setEnabled(not is_locked)

    def _show_purpose(self) -> None:
        old = self._edited
        self._title.setText(
            self.tr("Add a place")
            if old is None
            else self.tr("Change {name}").format(name=old.name)
        )
        add, save = self.tr("Test and add"), self.tr("Test and save")
        self._save.set_text(add if old is None else save)
        self._cancel.setVisible(old is not None)

    def _on_kind(self) -> None:
        title, example = target_words(self._kind.currentData())
        self._target.setAccessibleName(title)
        self._target.setPlaceholderText(f"{title}: {example}")
        self._on_edited()

    def _on_edited(self) -> None:
        if not self.line.is_busy:
            self.line.clear()
