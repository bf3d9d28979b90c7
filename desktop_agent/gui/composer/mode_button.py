"""The button that shows the mode and changes it; the free one is confirmed once a folder."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from desktop_agent import paths
from desktop_agent.core.approvals import Mode
from desktop_agent.gui.kit.menu_button import MenuButton
from desktop_agent.gui.kit.text_cache import TextCache
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import named, restyle

_ICONS: dict[Mode, tuple[str, str]] = {
    "look": ("eye", "info"),
    "ask": ("shield-check", "accent"),
    "free": ("shield-off", "err"),
}


class ModeButton(MenuButton):
    """`mode_chosen` comes after the user picked another mode, and confirmed a free one."""

    mode_chosen = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "shield-check", token="accent")
        self.setObjectName("modeButton")
        self.mode: Mode = "ask"
        # A confirmation holds for it.
        self.folder = ""
        self._confirmed = TextCache.of(paths.config_dir() / "confirmed.json", self)
        self._is_narrow = False
        self._menu = named(QMenu(self), "modeMenu", self.tr("What the agent may do"))
        group = QActionGroup(self)
        self._actions: dict[Mode, QAction] = {}
        for mode, (title, explained) in self._texts().items():
            action = self._menu.addAction(f"{title} – {explained}")
            action.setCheckable(True)
            action.setObjectName(f"mode_{mode}")
            action.triggered.connect(partial(self.choose, mode))
            group.addAction(action)
            self._actions[mode] = action
        self.clicked.connect(self._open)
        theme.changed.connect(self._paint_menu)
        self._actions[self.mode].setChecked(True)
        self._paint_menu()
        self._show()

    def set_mode(self, mode: Mode) -> None:
        if mode != self.mode:
            self.mode = mode
            self._actions[mode].setChecked(True)
            self._paint_menu()
            self._show()

    def choices(self) -> tuple[tuple[Mode, str, str], ...]:
        """Return mode, name and icon of each."""
        return tuple((mode, title, _ICONS[mode][0]) for mode, (title, _) in self._texts().items())

    def set_narrow(self, is_narrow: bool) -> None:
        """Show only the icon."""
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self._show()

    def _open(self) -> None:
        high = self._menu.sizeHint().height()
        self._menu.popup(self.mapToGlobal(QPoint(0, -high - 4)))
        self._menu.setActiveAction(self._actions[self.mode])

    def _texts(self) -> dict[Mode, tuple[str, str]]:
        """Return what each mode is called, and what it means."""
        return {
            "look": (self.tr("Look only"), self.tr("reads, changes nothing")),
            "ask": (self.tr("Ask before changes"), self.tr("shows each change first")),
            "free": (
                self.tr("Work without asking in this folder"),
                self.tr("still asks for risky things"),
            ),
        }

    def _show(self) -> None:
        title, explained = self._texts()[self.mode]
        # The menu has the whole name; the button has little room.
        short = self.tr("Work without asking") if self.mode == "free" else title
        self.set_text("" if self._is_narrow else short)
        self.set_icon(*_ICONS[self.mode])
        name = self.tr("Mode: {mode}").format(mode=title)
        self.setAccessibleName(name)
        self.setToolTip(f"{name} – {explained}")
        self.setProperty("tone", "danger" if self.mode == "free" else "")
        restyle(self)

    def choose(self, mode: Mode, _checked: bool = False) -> None:
        """Do what a click on the mode in the menu does."""
        if mode == self.mode:
            return
        self._actions[self.mode].setChecked(True)
        if mode == "free" and self._confirmed.text(self.folder) != mode:
            self._confirm()
        else:
            self._accept(mode)

    def _accept(self, mode: Mode) -> None:
        self.set_mode(mode)
        self.mode_chosen.emit(mode)

    def _confirm(self) -> None:
        from desktop_agent.gui.kit.dialogs.question import Question  # not at the start

        words = self.tr(
            "{folder}\n\nIt still asks before it deletes what undo can't bring back, works outside "
            "this folder, reaches the network, or runs a command that can't be kept inside."
        )
        box = Question(
            self._theme,
            self.window(),
            name="confirmFree",
            title=self.tr("Work without asking"),
            text=self.tr("Let the agent change files in this folder without asking?"),
            detail=words.format(folder=self.folder).strip(),
            icon="shield-off",
            token="err",
        )
        box.add(self.tr("Work without asking"), name="confirmFreeYes")
        box.accepted.connect(self._on_confirmed)
        box.open()

    def _on_confirmed(self) -> None:
        self._confirmed.keep(self.folder, "free")
        self._confirmed.save()
        self._accept("free")

    def _paint_menu(self) -> None:
        for mode, action in self._actions.items():
            action.setIcon(self._theme.icon(*_ICONS[mode]))
            action.setFont(self._theme.font("ui", "semibold" if mode == self.mode else "regular"))
