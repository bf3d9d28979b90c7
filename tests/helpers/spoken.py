"""What a screen reader would stumble over in what is on screen now."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAbstractButton, QApplication, QCheckBox

Role = QAccessible.Role
Text = QAccessible.Text
_MOST = 60  # children of one parent: the rows of a long list are alike
_CONTROLS = frozenset({
    *(Role.Button, Role.ButtonMenu, Role.ButtonDropDown, Role.CheckBox, Role.RadioButton),
    *(Role.EditableText, Role.SpinBox, Role.Slider, Role.List, Role.Tree, Role.Table),
    *(Role.ListItem, Role.TreeItem, Role.MenuItem, Role.PageTab, Role.Link, Role.Dialog),
})  # fmt: skip
# Buttons that stay pressed until they are pressed again.
_SWITCHES = frozenset({"compareChanged"})
# What can't be said, or is a picture in place of a word.
_ODD = frozenset("\u2003\u2009\ufdd0\ufdd1\ufffc▾▸▼▶")


def _showing(
    part: QAccessibleInterface | None, above: str
) -> Iterator[tuple[QAccessibleInterface, str]]:
    """Go through all that is shown, each with the names of what it is in."""
    if part is None or not part.isValid() or part.state().invisible:
        return
    path = f"{above}/{part.role().name} {part.text(Text.Name)[:30]}".removesuffix(" ")
    yield part, path
    for number in range(min(part.childCount(), _MOST)):
        yield from _showing(part.child(number), path)


def labels_of(part: QAccessibleInterface) -> list[str]:
    """Return what the labels beside a control say."""
    return [
        label.text(Text.Name)
        for label, relation in part.relations()
        if relation & QAccessible.RelationFlag.Label
    ]


def faults() -> list[str]:
    """Return a line for each control of any window that is not said as what it is."""
    running = QApplication.instance()
    assert running is not None
    app = QAccessible.queryAccessibleInterface(running)
    found: list[str] = []
    for window in (app.child(number) for number in range(app.childCount())):
        for part, path in _showing(window, ""):
            if fault := _fault(part):
                found.append(f"{fault}: {path}")
    return [*found, *_false_boxes()]


def _fault(part: QAccessibleInterface) -> str:
    role, name = part.role(), part.text(Text.Name)
    is_named = bool(name.strip() or "".join(labels_of(part)).strip())
    if role == Role.ComboBox:
        has_both = bool("".join(labels_of(part)).strip() and part.text(Text.Value).strip())
        return "" if has_both else "a list of choices without its label or its value"
    if role in _CONTROLS and not is_named:
        return f"{role.name} without a name"
    if role == Role.Client and part.state().focusable and not is_named and not _is_inner(part):
        return "something that takes the focus without a name"
    return "characters that nobody says" if role in _CONTROLS and _ODD & set(name) else ""


def _is_inner(part: QAccessibleInterface) -> bool:
    """Whether this is the inside of a view, which speaks for it."""
    outer = part.parent()
    return outer is not None and bool(outer.text(Text.Name).strip())


def _false_boxes() -> list[str]:
    """Return the buttons that are said as boxes to tick: what they do is something else."""
    buttons = [one for one in QApplication.allWidgets() if isinstance(one, QAbstractButton)]
    return [
        f"no box to tick: {one.objectName()}"
        for one in buttons
        if one.isVisible()
        and not isinstance(one, QCheckBox)
        and one.objectName() not in _SWITCHES
        and QAccessible.queryAccessibleInterface(one).role() == Role.CheckBox
    ]
