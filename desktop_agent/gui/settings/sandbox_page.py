"""Settings: whether commands are contained on this computer, and what they see and reach then."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.approvals import Rule
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import PrivateCache, Probe, SandboxContents, SandboxState
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.folders import short_path
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconLabel, TextButton, TextLabel, column, named, row
from desktop_agent.gui.settings.pages import SettingsPage
from desktop_agent.gui.settings.rows import SettingGroup, Switch, item_row
from desktop_agent.gui.settings.rule_list import visible
from desktop_agent.gui.settings.sandbox_hosts import SandboxHosts


class SandboxPage(SettingsPage):
    """Signals:
    changed(Settings): one new value
    check_requested: answered by `set_sandbox`
    fix_requested(QWidget): what is missing is to be installed; to be asked at this widget
    contents_requested: answered by `set_contents`, each time the page is opened
    cache_emptied(id): the user wants a private cache emptied
    rule_added(Rule), rule_deleted(Rule): what the user asked for
    """

    check_requested = Signal()
    fix_requested = Signal(object)
    contents_requested = Signal()
    cache_emptied = Signal(str)
    rule_added = Signal(object)
    rule_deleted = Signal(object)

    def __init__(self, theme: Theme, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(settings, parent)
        self._theme = theme
        self._workspace: Workspace | None = None
        self._contents = SandboxContents()
        self._switches: dict[str, Switch] = {}
        about = TextLabel(
            self.tr(
                "In the sandbox a command can read the system and the session's folders, and "
                "change these folders. The rest of your home folder is hidden, and a new host is "
                "reached once you allow it. What needs more is asked about, each time."
            ),
            "muted",
            wraps=True,
        )
        self._words = TextLabel("", name="sandboxWords", wraps=True)
        self._remedy = TextLabel("", "mono", name="sandboxRemedy", wraps=True)
        flags = Qt.TextInteractionFlag
        both = flags.TextSelectableByMouse | flags.TextSelectableByKeyboard
        self._remedy.setTextInteractionFlags(both)
        self._again = TextButton(theme, self.tr("Check again"), "refresh-cw", name="checkSandbox")
        self._again.clicked.connect(self._check)
        self._fix = TextButton(theme, self.tr("Fix…"), "download", name="fixSandbox")
        self._fix.clicked.connect(lambda: self.fix_requested.emit(self._fix))
        state = QWidget()
        buttons = row(self._fix, self._again, None)
        column(self._words, self._remedy, buttons, spacing=8, within=state)
        self._seen = SettingGroup(theme, self.tr("What commands see"))
        self._hosts = SandboxHosts(theme)
        self._hosts.rule_added.connect(self.rule_added)
        self._hosts.rule_deleted.connect(self.rule_deleted)
        self._caches = SettingGroup(theme, self.tr("Private caches"))
        self._probes = named(SettingGroup(theme, self.tr("What was tried")), "sandboxProbes")
        devices = self._make_devices()
        self._show_seen()
        self.fill(about, state, self._seen, self._hosts, self._caches, devices, self._probes)
        self.set_sandbox(None)

    def _make_devices(self) -> SettingGroup:
        group = SettingGroup(self._theme, self.tr("Devices"))
        group.add_row(
            self.tr("Graphics processor"),
            self.tr(
                "For programs that compute on it; its driver is more that a program can attack"
            ),
            self.bind("sandbox.has_gpu", Switch("sandboxGpu")),
        )
        return group

    # -- down -----------------------------------------------------------------------------

    def show_settings(self, settings: Settings) -> None:
        super().show_settings(settings)
        for path, switch in self._switches.items():
            switch.set_value(path not in settings.sandbox.hidden)

    def set_place(self, workspace: Workspace | None, session_id: SessionId | None) -> None:
        """Know the folders and the session that are open."""
        self._workspace = workspace
        self._hosts.set_place(workspace.root if workspace is not None else "", session_id)
        self._show_seen()

    def set_rules(self, rules: tuple[Rule, ...]) -> None:
        self._hosts.set_rules(rules)

    def set_sandbox(self, state: SandboxState | None) -> None:
        """Show what a check found; None while it is not known."""
        self._again.setEnabled(state is not None)
        self._fix.setVisible(state is not None and bool(state.command))
        if state is None:
            self._tell(self.tr("Checking…"), "muted", "")
            return
        if state.holds:
            self._tell(self.tr("The sandbox holds: commands run in it."), "ok", "")
        else:
            self._tell(state.reason, "warn", state.remedy)
        self._probes.clear()
        self._probes.setVisible(bool(state.probes))
        for probe in state.probes:
            self._probes.add_widget(self._probe_line(probe))

    def set_contents(self, contents: SandboxContents) -> None:
        """Show what commands see of the home, and the private caches."""
        if contents == self._contents and self._caches.row_count():
            return
        self._contents = contents
        self._show_seen()
        self._caches.clear()
        for cache in contents.caches:
            self._caches.add_widget(self._cache_line(cache))
        if not contents.caches:
            words = self.tr("Nothing is kept. What tools fetch and compile stays here, by folder.")
            self._caches.add_widget(_note(words))

    def showEvent(self, event: QShowEvent) -> None:
        """Look at what is there now: commands may have filled a cache since."""
        super().showEvent(event)
        if not event.spontaneous():
            self.contents_requested.emit()

    # -- inside ---------------------------------------------------------------------------

    def _check(self) -> None:
        self.set_sandbox(None)
        self.check_requested.emit()

    def _tell(self, words: str, role: str, remedy: str) -> None:
        self._words.setText(words)
        self._words.setAccessibleName(words)
        self._words.set_role(role)
        self._remedy.setText(remedy)
        self._remedy.setVisible(bool(remedy))

    def _show_seen(self) -> None:
        self._seen.clear()
        self._switches = {}
        if self._workspace is not None:
            for path in self._workspace.write_roots:
                self._add_folder(path, self.tr("can be changed"))
            for path in self._workspace.readable:
                self._add_folder(path, self.tr("can be read"))
        for path in self._contents.toolchains:
            self._seen.add_widget(self._toolchain_line(path))
        if not self._seen.row_count():
            self._seen.add_widget(_note(self.tr("The system's programs and libraries, read-only.")))

    def _add_folder(self, path: str, words: str) -> None:
        title = visible(short_path(path))
        self._seen.add_widget(item_row(self._theme, "folder-open", title, words))

    def _toolchain_line(self, path: str) -> QWidget:
        title = visible(short_path(path))
        switch = self._switches[path] = Switch("showToolchain")
        switch.set_value(path not in self._settings.sandbox.hidden)
        switch.setAccessibleName(self.tr("Commands see {path}").format(path=title))
        switch.chosen.connect(partial(self._on_toolchain, path))
        return item_row(self._theme, "terminal", title, self.tr("programs, only read"), switch)

    def _on_toolchain(self, path: str, is_seen: bool) -> None:
        options = self._settings.sandbox
        others = tuple(one for one in options.hidden if one != path)
        hidden = others if is_seen else (*others, path)
        self._settings = replace(self._settings, sandbox=replace(options, hidden=hidden))
        self.changed.emit(self._settings)

    def _cache_line(self, cache: PrivateCache) -> QWidget:
        unknown = self.tr("A folder of before")
        title = visible(short_path(cache.folder)) if cache.folder else unknown
        size = QLocale().formattedDataSize(cache.size, 1, QLocale.DataSizeFormat.DataSizeSIFormat)
        empty = TextButton(self._theme, self.tr("Empty"), "trash-2")
        empty.setObjectName("emptyCache")
        empty.setAccessibleName(self.tr("Empty the cache of {folder}").format(folder=title))

        def ask() -> None:
            empty.setEnabled(False)
            self.cache_emptied.emit(cache.id)

        empty.clicked.connect(ask)
        return item_row(self._theme, "download", title, size, empty)

    def _probe_line(self, probe: Probe) -> QWidget:
        icon = IconLabel(
            self._theme,
            "circle-check" if probe.held else "circle-x",
            "ok" if probe.held else "err",
        )
        told = probe.words or probe.name
        words = TextLabel(f"{told[:1].upper()}{told[1:]}", wraps=True)
        result = self.tr("held") if probe.held else self.tr("did not hold")
        words.setAccessibleName(f"{result}: {told}")
        line = QWidget()
        line.setLayout(row(icon, words, stretch=1, edges=(0, 7, 0, 7)))
        return line


def _note(words: str) -> TextLabel:
    label = TextLabel(words, "subtle", wraps=True)
    label.setContentsMargins(0, 9, 0, 9)
    return label
