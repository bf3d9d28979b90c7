"""Settings: the places besides this computer where jobs can run."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QScrollArea, QWidget

from desktop_agent import __version__
from desktop_agent.core.network.places import Place, PlaceCheck
from desktop_agent.core.settings import Settings
from desktop_agent.gui.kit.check_line import CheckLine
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconButton, TextButton, TextLabel, column, single_timer
from desktop_agent.gui.settings.pages import SettingsPage
from desktop_agent.gui.settings.place_form import PlaceForm
from desktop_agent.gui.settings.place_text import (
    found_words,
    installing_words,
    kind_titles,
    missing_words,
    show_problem,
)
from desktop_agent.gui.settings.rows import SettingGroup, item_row

_ICONS = {"ssh": "server", "container": "box", "pod": "workflow", "command": "terminal"}


class PlacesPage(SettingsPage):
    """The list, and a form. Places come from here alone: no folder and no model can add one.

    Signals:
        changed(Settings): one new value
        check_requested(Place): reach a place; answered by `set_result`
        install_requested(Place): install this version there; answered so, too
    """

    check_requested = Signal(object)
    install_requested = Signal(object)

    def __init__(self, theme: Theme, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(settings, parent)
        self._theme = theme
        self._lines: dict[Place, CheckLine] = {}
        about = TextLabel(
            self.tr(
                "Other computers, containers and pods that have Desktop Agent. Subagents work "
                "there, once you agree, and jobs (desktop-agent batch JOBS --on NAME), in a copy "
                "of the folder. Models are asked from this computer, so no key goes there. Files "
                "that look like keys, or that a rule keeps from being read, stay here."
            ),
            "subtle",
            wraps=True,
        )
        self._list = SettingGroup(theme, self.tr("Your places"))
        self._form = PlaceForm(theme)
        self._form.check_requested.connect(self.check_requested)
        self._form.install_requested.connect(self.install_requested)
        self._form.accepted.connect(self._on_accepted)
        # Once what was shown just now has its height.
        self._reveal = single_timer(self, 0, self._show_form)
        adding = SettingGroup(theme)
        holder = QWidget()
        column(self._form, spacing=-1, edges=(0, 12, 0, 12), within=holder)
        adding.add_widget(holder)
        self._show_places()
        self.fill(about, self._list, adding)

    def show_settings(self, settings: Settings) -> None:
        """Show the places."""
        is_new = settings.places != self._settings.places
        super().show_settings(settings)
        if is_new:
            self._show_places()

    def set_result(self, place: Place, check: PlaceCheck) -> None:
        """Show what a test found, in the form and beside the place."""
        self._form.set_result(place, check)
        if (line := self._lines.get(place)) is None:
            return
        if check.problem:
            show_problem(line, place, check)
        elif missing := missing_words(check):
            line.show_missing(f"{found_words(check)}. {missing}")
        else:
            line.show_ok(found_words(check))

    def _show_places(self) -> None:
        self._form.set_taken([place.name for place in self._settings.places])
        self._list.clear()
        self._lines.clear()
        for place in self._settings.places:
            self._list.add_widget(self._row(place))
        self._list.setVisible(bool(self._settings.places))

    def _row(self, place: Place) -> QWidget:
        theme, name = self._theme, place.name
        test = TextButton(theme, self.tr("Test"), name="testPlace")
        test.setAccessibleName(self.tr("Test {name}").format(name=name))
        test.clicked.connect(partial(self._test, place))
        title = self.tr("Change {name}").format(name=name)
        edit = IconButton(theme, "pencil", title, size=14, name="editPlace")
        edit.clicked.connect(partial(self._edit, place))
        title = self.tr("Remove {name}").format(name=name)
        remove = IconButton(theme, "trash-2", title, size=14, name="removePlace")
        remove.clicked.connect(partial(self._remove, place))
        parts = (kind_titles()[place.kind], place.target, "Ray" if place.has_ray else "")
        detail = " · ".join(part for part in parts if part)
        head = item_row(theme, _ICONS[place.kind], name, detail, test, edit, remove)
        self._lines[place] = line = CheckLine(theme)
        line.mended.connect(partial(self._install, place))
        holder = QWidget()
        inset = column(line, edges=(28, 0, 0, 6))
        column(head, inset, within=holder)
        return holder

    def _edit(self, place: Place) -> None:
        self._form.edit(place)
        self._reveal.start()

    def _show_form(self) -> None:
        for area in self.findChildren(QScrollArea):
            area.ensureWidgetVisible(self._form)

    def _test(self, place: Place) -> None:
        line = self._lines[place]
        if not line.is_busy:
            line.show_busy(self.tr("Reaching {name}…").format(name=place.name))
            self.check_requested.emit(place)

    def _install(self, place: Place) -> None:
        line = self._lines[place]
        if not line.is_busy:
            line.show_busy(installing_words(place, __version__))
            self.install_requested.emit(place)

    def _on_accepted(self, place: Place, old: Place | None) -> None:
        places = self._settings.places
        if old in places:
            kept = tuple(place if one == old else one for one in places)
        else:
            kept = (*places, place)
        self._change(kept)

    def _remove(self, place: Place) -> None:
        self._change(tuple(one for one in self._settings.places if one != place))

    def _change(self, places: tuple[Place, ...]) -> None:
        settings = replace(self._settings, places=places)
        self.show_settings(settings)
        self.changed.emit(settings)
