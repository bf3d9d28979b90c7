"""The controls of a server's form: one for each field, which know what they hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from urllib.parse import urlsplit

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from desktop_agent.core.parts.forms import FieldValue, FormField, is_within, number_of
from desktop_agent.gui.kit.accessible import NamedChoice
from desktop_agent.gui.kit.fields.input_methods import EnterLine
from desktop_agent.gui.kit.safe_text import label_text, path_text, with_marks
from desktop_agent.gui.kit.widgets import TextLabel, column, named

translate = QCoreApplication.translate
_LONGEST = 10_000


class FieldRow(QWidget):
    """A label, the control and what is said of it. `value` is None while nothing is given."""

    def __init__(self, field: FormField, parent: QWidget) -> None:
        super().__init__(parent)
        self.field = field
        self.title = path_text(field.title or field.name)
        self.controls: list[QWidget] = []
        make: dict[str, Callable[[], list[QWidget]]] = {
            "boolean": self._make_check,
            "choice": self._make_choice,
            "choices": self._make_choices,
        }
        optional = "" if field.is_required else translate("FormCard", "optional")
        head = " · ".join(filter(None, (self.title, optional)))
        label = TextLabel(label_text(head), "muted", self, wraps=True)
        label.setVisible(field.kind != "boolean")
        about = label_text(with_marks(field.about))
        note = TextLabel(about, "caption", self, wraps=True)
        note.setVisible(bool(about))
        self.controls = make.get(field.kind, self._make_line)()
        for control in self.controls:
            control.setAccessibleDescription(f"{about} {optional}".strip())
        column(label, *self.controls, note, spacing=2, within=self)

    @property
    def value(self) -> FieldValue | None:
        """What is given, as the field's kind."""
        first = self.controls[0]
        match first:
            case QCheckBox() if self.field.kind == "boolean":
                return first.isChecked()
            case QComboBox():
                return first.currentData()
            case QLineEdit():
                return self._typed(first.text())
            case _:
                boxes = (one for one in self.controls if isinstance(one, QCheckBox))
                pairs = zip(boxes, self.field.choices, strict=True)
                return tuple(value for box, (value, _) in pairs if box.isChecked()) or None

    def problem(self) -> str:
        """Return why what is given can't be sent; empty if it can."""
        field, first = self.field, self.controls[0]
        is_typed = isinstance(first, QLineEdit) and bool(first.text().strip())
        value = self.value
        if value is None and is_typed:
            return translate("FormCard", "{field}: type a number.").format(field=self.title)
        if value is None and field.is_required:
            return translate("FormCard", "{field} is needed.").format(field=self.title)
        if value is not None and not _fits(field, value):
            return translate("FormCard", "{field} {limits}.").format(
                field=self.title, limits=_limits(field)
            )
        return ""

    def _typed(self, text: str) -> FieldValue | None:
        if not text.strip():
            return None
        if self.field.kind == "text":
            return text
        return number_of(self.field, text.strip())

    # -- construction ------------------------------------------------------------------------

    def _make_line(self) -> list[QWidget]:
        line = named(EnterLine(self), "formLine", self.title)
        line.setMaxLength(_LONGEST)
        if self.field.default is not None:
            line.setText(str(self.field.default))
        return [line]

    def _make_check(self) -> list[QWidget]:
        box = named(QCheckBox(self.title, self), "formCheck", self.title)
        box.setChecked(self.field.default is True)
        return [box]

    def _make_choice(self) -> list[QWidget]:
        box = named(_Choice(self), "formChoice", self.title)
        box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        box.addItem(translate("FormCard", "Choose…"), None)
        for value, title in self.field.choices:
            box.addItem(path_text(title), value)
            if value == self.field.default:
                box.setCurrentIndex(box.count() - 1)
        return [box]

    def _make_choices(self) -> list[QWidget]:
        chosen = self.field.default if isinstance(self.field.default, tuple) else ()
        boxes: list[QWidget] = []
        for value, title in self.field.choices:
            spoken = f"{self.title}: {path_text(title)}"
            box = named(QCheckBox(path_text(title), self), "formCheck", spoken)
            box.setChecked(value in chosen)
            boxes.append(box)
        return boxes


class _Choice(NamedChoice):
    """Scrolling the conversation must not choose something else."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def _fits(field: FormField, value: FieldValue) -> bool:
    match value:
        case bool():
            return True
        case int() | float():
            return is_within(field, value)
        case tuple():
            return is_within(field, len(value))
        case str() if field.kind == "text":
            return is_within(field, len(value)) and _has_form(field.form, value.strip())
        case _:
            return True


def _has_form(form: str, text: str) -> bool:
    try:
        match form:
            case "email":
                name, _, host = text.partition("@")
                return bool(name and host) and "@" not in host and len(text.split()) == 1
            case "uri":
                return bool(urlsplit(text).scheme)
            case "date":
                date.fromisoformat(text)
            case "date-time":
                datetime.fromisoformat(text)
            case _:
                pass
    except ValueError:
        return False
    return True


def _limits(field: FormField) -> str:
    """Return what a value has to be, in words."""
    form = {
        "email": translate("FormCard", "has to be an e-mail address"),
        "uri": translate("FormCard", "has to be an address such as https://example.com"),
        "date": translate("FormCard", "has to be a day such as 2026-11-30"),
        "date-time": translate("FormCard", "has to be a time such as 2026-11-30T09:00"),
    }.get(field.form, "")
    bounds = {
        "text": translate("FormCard", "has to have {least} to {most} letters"),
        "choices": translate("FormCard", "takes {least} to {most} of these"),
    }.get(field.kind, translate("FormCard", "has to be between {least} and {most}"))
    least = "…" if field.least is None else f"{field.least:g}"
    most = "…" if field.most is None else f"{field.most:g}"
    has_bounds = field.least is not None or field.most is not None
    words = (form, bounds.format(least=least, most=most) if has_bounds else "")
    return translate("FormCard", " and ").join(filter(None, words))
