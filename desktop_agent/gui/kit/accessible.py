"""What Qt does not tell assistive technology by itself: documents, what unfolds, open menus."""

from __future__ import annotations

from weakref import ref

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleActionInterface,
    QAccessibleInterface,
    QAccessibleObject,
    QAccessibleStateChangeEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAccessibleWidget,
    QApplication,
    QComboBox,
    QLabel,
    QMenu,
    QMenuBar,
    QWidget,
)

Role = QAccessible.Role


class ReadAsDocument:
    """Mixed into a widget whose content is read as a document."""


class Unfolds:
    """Mixed into a button that opens and closes what is below it; `tell_open` after a change."""

    can_unfold: bool
    is_open: bool

    def tell_open(self) -> None:
        if QAccessible.isActive() and isinstance(self, QObject):
            changed = QAccessible.State()
            changed.expanded = True
            QAccessible.updateAccessibility(QAccessibleStateChangeEvent(self, changed))


class OneOf:
    """Mixed into a button of a row of which one is chosen: a tab, no box to tick."""


class NamedChoice(QComboBox):
    """Tells its accessible name by a label: as the name of such a box Linux is told its choice."""

    _label: QLabel | None = None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # Labels are looked for beside the box alone.
        self._label = QLabel(parent)
        self._label.hide()
        self._label.setBuddy(self)
        self.destroyed.connect(self._label.deleteLater)

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        if self._label is not None:
            self._label.setText(name)

    def changeEvent(self, e: QEvent) -> None:
        super().changeEvent(e)
        if e.type() == QEvent.Type.ParentChange and self._label is not None:
            self._label.setParent(self.parentWidget())


class _Button(QAccessibleWidget):
    def __init__(self, button: QAbstractButton, role: QAccessible.Role) -> None:
        super().__init__(button, role)
        # Qt keeps this object until the app ends. `object()` would tie the button to it.
        self._of = ref(button)

    def state(self) -> QAccessible.State:
        state, button = super().state(), self._of()
        if isinstance(button, Unfolds) and button.can_unfold:
            state.expandable = True
            state.expanded = button.is_open
            state.collapsed = not button.is_open
        elif isinstance(button, OneOf):
            state.checkable = True
            state.checked = button.isChecked()
        return state

    def text(self, t: QAccessible.Text) -> str:
        button, words = self._of(), super().text(t)
        if t == QAccessible.Text.Name and not words and button is not None:
            return button.text().replace("&", "")
        return words

    def actionNames(self) -> list[str]:
        return [QAccessibleActionInterface.pressAction(), *super().actionNames()]

    def doAction(self, action_name: str) -> None:
        button = self._of()
        if action_name == QAccessibleActionInterface.pressAction():
            if button is not None and button.isEnabled():
                button.click()
        else:
            super().doAction(action_name)


class _Application(QAccessibleObject):
    """The app with its windows. Qt's own leaves menus out: they are popups, and no child's."""

    def role(self) -> QAccessible.Role:
        return Role.Application

    def state(self) -> QAccessible.State:
        return QAccessible.State()

    def text(self, t: QAccessible.Text) -> str:
        return QApplication.applicationName() if t == QAccessible.Text.Name else ""

    def parent(self) -> QAccessibleInterface | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None

    def childCount(self) -> int:
        return len(_windows())

    def child(self, index: int) -> QAccessibleInterface | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        windows = _windows()
        if 0 <= index < len(windows):
            return QAccessible.queryAccessibleInterface(windows[index])
        return None

    def indexOfChild(self, arg__1: QAccessibleInterface) -> int:
        wanted = QAccessible.uniqueId(arg__1)
        told = (QAccessible.queryAccessibleInterface(one) for one in _windows())
        return next((n for n, one in enumerate(told) if QAccessible.uniqueId(one) == wanted), -1)

    def focusChild(self) -> QAccessibleInterface | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        window = QApplication.activeWindow()
        return QAccessible.queryAccessibleInterface(window) if window is not None else None


def _windows() -> list[QWidget]:
    return [one for one in QApplication.topLevelWidgets() if _is_told(one)]


def _is_told(window: QWidget) -> bool:
    if isinstance(window, QMenu):
        # A submenu, and one of the menu bar, is found in the menu that it is of.
        return window.isVisible() and not isinstance(window.parentWidget(), QMenu | QMenuBar)
    is_popup = window.windowType() in (Qt.WindowType.Popup, Qt.WindowType.ToolTip)
    return window.testAttribute(Qt.WidgetAttribute.WA_WState_Created) and not is_popup


_ROLES = {ReadAsDocument: Role.Document, Unfolds: Role.Button, OneOf: Role.RadioButton}


def _interface(_: str, owner: QObject) -> QAccessibleInterface | None:
    if isinstance(owner, QApplication):
        return _Application(owner)
    if isinstance(owner, QWidget):
        role = next((role for kind, role in _ROLES.items() if isinstance(owner, kind)), None)
        if role is not None and isinstance(owner, QAbstractButton):
            return _Button(owner, role)
        if role is not None:
            return QAccessibleWidget(owner, role)
    return None


_installed: list[bool] = []


def tell_all() -> None:
    """Have Qt ask here first; once for the process."""
    if not _installed:
        _installed.append(True)
        QAccessible.installFactory(_interface)
