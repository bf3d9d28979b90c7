"""Everything that can be done from the keyboard, once, with its name: menus, palette, keys."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from desktop_agent.gui.kit.theme import Theme

_KEY = QKeySequence.StandardKey


class WindowActions(QObject):
    """The window's actions, in menus. The menu bar is hidden where windows have their own."""

    def __init__(self, theme: Theme, window: QMainWindow) -> None:
        super().__init__(window)
        self._theme = theme
        self._window = window
        self._icons: list[tuple[QAction, str]] = []
        self.all: list[QAction] = []
        self._session_menu()
        self._edit_menu()
        self._view_menu()
        for menu in window.menuBar().findChildren(QMenu):
            menu.aboutToShow.connect(self._paint_icons)

    def set_read_only(self, is_read_only: bool) -> None:
        """Offer what changes the session that is shown, or not while it can only be read."""
        changing = (self.budget, self.rename, self.delete, self.undo_all, self.stop)
        for action in (*changing, self.task, self.model):
            action.setEnabled(not is_read_only)

    def _session_menu(self) -> None:
        tr = self.tr
        menu = self._window.menuBar().addMenu(tr("&Session"))
        self.new = self._make(tr("New session"), "plus", _KEY.New)
        self.folder = self._make(tr("Open folder…"), "folder-open", _KEY.Open)
        self.switch = self._make(tr("Switch session…"), "message-square", "Ctrl+P")
        self.palette = self._make(tr("All commands…"), "search", "Ctrl+K")
        self.new_window = self._make(tr("New window"), "app-window", "Ctrl+Shift+N")
        self.close_window = self._make(tr("Close window"), "x", _KEY.Close)
        self.budget = self._make(tr("Budget of this session…"), "wallet", None)
        self.rename = self._make(tr("Rename session"), "pencil", None)
        self.export = self._make(tr("Export session…"), "external-link", None)
        self.import_session = self._make(tr("Import session…"), "download", None)
        self.delete = self._make(tr("Delete session"), "trash-2", None)
        self.shortcuts = self._make(tr("Keyboard shortcuts"), "keyboard", "Ctrl+/", "F1")
        self.add_skill = self._make(tr("Add skill…"), "download", None)
        self.add_server = self._make(tr("Add MCP server…"), "server", None)
        self.settings = self._make(tr("Settings…"), "settings", "Ctrl+,")
        self.settings.setMenuRole(QAction.MenuRole.PreferencesRole)
        self.quit = self._make(tr("Quit"), "log-out", "Ctrl+Q")
        self.quit.setMenuRole(QAction.MenuRole.QuitRole)
        menu.addActions([self.new, self.new_window, self.close_window])
        menu.addActions([self.folder, self.switch, self.palette])
        menu.addSeparator()
        menu.addActions([self.budget, self.rename, self.export, self.import_session, self.delete])
        menu.addSeparator()
        menu.addActions([self.add_skill, self.add_server, self.shortcuts, self.settings, self.quit])

    def _edit_menu(self) -> None:
        tr = self.tr
        menu = self._window.menuBar().addMenu(tr("&Edit"))
        self.find = self._make(tr("Find in this session"), "search", _KEY.Find)
        self.find_next = self._make(tr("Find next"), "chevron-down", "F3")
        self.find_previous = self._make(tr("Find previous"), "chevron-up", "Shift+F3")
        self.copy_answer = self._make(tr("Copy the last answer"), "copy", "Ctrl+Shift+C")
        self.undo_all = self._make(tr("Undo all changes of this session…"), "undo-2", None)
        self.stop = self._make(tr("Stop"), "square", "Ctrl+.")
        self.approval = self._make(
            tr("Go to the oldest question"), "shield-alert", "Ctrl+Shift+A", "Alt+A"
        )
        menu.addActions([self.find, self.find_next, self.find_previous, self.copy_answer])
        menu.addSeparator()
        menu.addActions([self.approval, self.undo_all, self.stop])

    def _view_menu(self) -> None:
        tr = self.tr
        menu = self._window.menuBar().addMenu(tr("&View"))
        self.composer = self._make(tr("Go to the message box"), "pencil", "Ctrl+L")
        self.sidebar = self._make(tr("Sidebar"), "panel-left", "Ctrl+B")
        self.side = self._make(tr("Tasks and subagents"), "panel-right", "Ctrl+J")
        self.task = self._make(tr("Add a task…"), "list-checks", None)
        self.changes = self._make(tr("Changes"), "file-diff", "Ctrl+Shift+D")
        self.skills = self._make(tr("Skills"), "book-open", "Ctrl+Shift+K")
        self.servers = self._make(tr("MCP servers"), "server", "Ctrl+Shift+M")
        self.usage = self._make(tr("Usage: tokens and money"), "gauge", None)
        self.trust = self._make(tr("What this folder brings…"), "shield", None)
        self.model = self._make(tr("Choose the model…"), "sparkles", None)
        self.larger = self._make(tr("Larger text"), "plus", _KEY.ZoomIn, "Ctrl+=")
        self.smaller = self._make(tr("Smaller text"), "minus", _KEY.ZoomOut)
        self.normal = self._make(tr("Normal text size"), "type", "Ctrl+0")
        self.next_region = self._make(tr("Next part of the window"), "arrow-right", "F6")
        self.previous_region = self._make(
            tr("Previous part of the window"), "arrow-right", "Shift+F6"
        )
        menu.addActions([self.composer, self.sidebar, self.side, self.task])
        menu.addActions([self.changes, self.skills, self.servers, self.usage])
        menu.addActions([self.trust, self.model])
        menu.addSeparator()
        menu.addActions([self.larger, self.smaller, self.normal])
        menu.addSeparator()
        menu.addActions([self.next_region, self.previous_region])

    def _make(self, text: str, icon: str, *keys: QKeySequence.StandardKey | str | None) -> QAction:
        action = QAction(text, self._window)
        sequences: list[QKeySequence] = []
        for key in keys:
            if isinstance(key, str):
                sequences.append(QKeySequence(key))
            elif key is not None:
                sequences.extend(QKeySequence.keyBindings(key))
        action.setShortcuts(list(dict.fromkeys(sequences)))
        action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        # The window holds the action itself: a hidden menu bar answers no keys.
        self._window.addAction(action)
        self._icons.append((action, icon))
        self.all.append(action)
        return action

    def _paint_icons(self) -> None:
        for action, icon in self._icons:
            action.setIcon(self._theme.icon(icon))
