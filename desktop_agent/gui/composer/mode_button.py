"""The button that shows the mode and changes it; the free one is confirmed once a folder."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QLabel, QMenu, QMessageBox, QWidget

from desktop_agent import paths
from desktop_agent.core.approvals import Mode
from desktop_agent.gui.kit.menu_button import MenuButton
from desktop_agent.gui.kit.text_cache import TextCache
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import restyle

_ICONS: dict[Mode, tuple[str, str]] = {
    "look": ("eye", "info"),
    "ask": ("shield-check", "accent"),
    "free": ("shield-off", "err"),
}


class ModeButton(MenuButton):
    """`mode_chosen(str)` after the person picked another mode, and confirmed a free one."""

    mode_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "shield-check", parent, token="accent")
        self.setObjectName("modeButton")
        self._mode: Mode = "ask"
        self._folder = ""
        self._confirmed = TextCache(paths.config_dir() / "confirmed.json", self)
        self._is_narrow = False
        self._menu = QMenu(self)
        self._menu.setObjectName("modeMenu")
        self._menu.setAccessibleName(self.tr("What the agent may do"))
        group = QActionGroup(self)
        self._actions = {}
        for mode, title in self._titles().items():
            action = self._menu.addAction(f"{title}\t{self._explained(mode)}")
            action.setCheckable(True)
            action.setObjectName(f"mode_{mode}")
            action.triggered.connect(partial(self._choose, mode))
            group.addAction(action)
            self._actions[mode] = action
        self.clicked.connect(self._open)
        theme.changed.connect(self._paint_menu)
        self._actions[self._mode].setChecked(True)
        self._paint_menu()
        self._show()

    @property
    def mode(self) -> Mode:
        """The mode that is shown."""
        return self._mode

    def set_mode(self, mode: Mode) -> None:
        """Show the session's mode."""
        if mode != self._mode:
            self._mode = mode
            self._actions[mode].setChecked(True)
            self._paint_menu()
            self._show()

    def set_folder(self, folder: str) -> None:
        """Name the folder that a confirmation holds for."""
        self._folder = folder

    def set_narrow(self, is_narrow: bool) -> None:
        """Show only the icon."""
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self._show()

    def _open(self) -> None:
        high = self._menu.sizeHint().height()
        self._menu.popup(self.mapToGlobal(QPoint(0, -high - 4)))
        self._menu.setActiveAction(self._actions[self._mode])

    def _titles(self) -> dict[Mode, str]:
        return {
            "look": self.tr("Look only"),
            "ask": self.tr("Ask before changes"),
            "free": self.tr("Work without asking in this folder"),
        }

    def _explained(self, mode: Mode) -> str:
        return {
            "look": self.tr("reads, changes nothing"),
            "ask": self.tr("shows each change first"),
            "free": self.tr("still asks for risky things"),
        }[mode]

    def _show(self) -> None:
        title = self._titles()[self._mode]
        # The menu has the whole name; the button has little room.
        short = self.tr("Work without asking") if self._mode == "free" else title
        self.set_text("" if self._is_narrow else short)
        self.set_icon(*_ICONS[self._mode])
        name = self.tr("Mode: {mode}").format(mode=title)
        self.setAccessibleName(name)
        self.setToolTip(f"{name} – {self._explained(self._mode)}")
        self.setProperty("tone", "danger" if self._mode == "free" else "")
        restyle(self)

    def _choose(self, mode: Mode, _checked: bool = False) -> None:
        if mode == self._mode:
            return
        self._actions[self._mode].setChecked(True)
        if mode == "free" and self._confirmed.text(self._folder) != mode:
            self._confirm()
        else:
            self._accept(mode)

    def _accept(self, mode: Mode) -> None:
        self.set_mode(mode)
        self.mode_chosen.emit(mode)

    def _confirm(self) -> None:
        box = QMessageBox(self.window())
        box.setObjectName("confirmFree")
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle(self.tr("Work without asking"))
        box.setText(self.tr("Let the agent change files in this folder without asking?"))
        box.setInformativeText(
            self.tr(
                "{folder}\n\nIt still asks before it deletes something, works outside this "
                "folder, reaches the network, or runs a command that can't be kept inside."
            )
            .format(folder=self._folder)
            .strip()
        )
        for label in box.findChildren(QLabel):
            # The folder's name is not ours: a tag in it must stay text.
            label.setTextFormat(Qt.TextFormat.PlainText)
        yes = box.addButton(self.tr("Work without asking"), QMessageBox.ButtonRole.AcceptRole)
        yes.setObjectName("confirmFreeYes")
        no = box.addButton(self.tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(no)
        box.setEscapeButton(no)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.buttonClicked.connect(lambda button: self._on_confirmed(button is yes))
        box.open()

    def _on_confirmed(self, is_confirmed: bool) -> None:
        if is_confirmed:
            self._confirmed.keep(self._folder, "free")
            self._confirmed.save()
            self._accept("free")

    def _paint_menu(self) -> None:
        for mode, action in self._actions.items():
            action.setIcon(self._theme.icon(*_ICONS[mode]))
            action.setFont(self._theme.font("ui", "semibold" if mode == self._mode else "regular"))
