"""Adding and changing a server, and taking over those of other apps. Nothing starts before *Add*,
but for *Test*, which says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.mcp import McpServer, McpState
from desktop_agent.gui.kit.check_line import CheckLine
from desktop_agent.gui.kit.dialogs.question import Question
from desktop_agent.gui.kit.fields.input_methods import Line, PlainText
from desktop_agent.gui.kit.fitted_area import fit_dialog
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    PrimaryButton,
    TextButton,
    TextLabel,
    named,
    row,
)
from desktop_agent.gui.mcp.switch_list import SwitchList
from desktop_agent.gui.mcp.text import (
    SwitchRow,
    command_text,
    server_from,
    suggested_name,
    variables_text,
)

_CALLBACK = "http://127.0.0.1/callback"
_WIDE, _HIGH, _HIGH_AT_ADDRESS, _IMPORT_HIGH = 46, 30, 38, 40


class ServerSheet(QDialog):
    """Signals:
    test_requested(McpServer): answered by `show_tested`
    saved(McpServer, replaces): the name that it had before, if any
    """

    test_requested = Signal(object)
    saved = Signal(object, str)

    def __init__(
        self,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        server: McpServer | None = None,
        taken: Iterable[str] = (),
    ) -> None:
        """`taken` are the names of the others."""
        super().__init__(parent)
        self._theme = theme
        self._before = server
        self._taken = {name.lower() for name in taken}
        self._is_at_address: bool | None = None
        self.setObjectName("serverSheet")
        self.setWindowTitle(self.tr("Change server") if server else self.tr("Add server"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*(theme.space("l"),) * 4)
        layout.setSpacing(theme.space("m"))
        layout.addLayout(self._make_form())
        self._check = CheckLine(theme, self)
        layout.addWidget(self._check)
        layout.addStretch(1)
        layout.addLayout(self._make_buttons(is_new=server is None))
        fit_dialog(self, theme, _WIDE, _HIGH)
        if server is not None:
            self._fill(server)
        self._look()

    def show_tested(self, state: McpState) -> None:
        """Say how the test went."""
        self._test.setEnabled(True)
        if state.phase == "running":
            words = self.tr("It works: {n} tools.").format(n=len(state.tools))
            self._check.show_ok(words)
        else:
            self._check.show_missing(with_marks(state.problem))

    def _make_form(self) -> QFormLayout:
        tr = self.tr
        self._command = named(Line(self), "serverCommand", tr("Command or address"))
        self._command.setPlaceholderText("npx -y @scope/server   ·   https://…")
        self._name_field = named(Line(self), "serverNameField", tr("Name"))
        self._variables = named(PlainText(self), "serverVariables", tr("Variables or headers"))
        self._variables.setPlaceholderText("NAME=value")
        self._variables.setTabChangesFocus(True)
        self._variables.setFixedHeight(4 * self._variables.fontMetrics().lineSpacing() + 16)
        self._outside = named(QCheckBox(tr("Run it outside the sandbox"), self), "serverOutside")
        self._outside.setToolTip(
            tr("It can then use all your files and programs on this computer, as you can")
        )
        note = TextLabel(
            tr(
                "A line each. Secrets are kept with your keys; ${NAME} stands for a variable of "
                "your own, read when the server starts."
            ),
            "caption",
            wraps=True,
        )
        for field in (self._command, self._name_field, *self._make_client_fields()):
            field.textChanged.connect(self._look)
        self._variables.textChanged.connect(self._look)
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(tr("Command or address"), self._command)
        form.addRow(tr("Name"), self._name_field)
        form.addRow(tr("Variables or headers"), self._variables)
        form.addRow("", note)
        form.addRow("", self._outside)
        form.addRow(tr("Client ID"), self._client_id)
        form.addRow(tr("Client secret"), self._client_secret)
        form.addRow("", self._client_note)
        self._form = form
        return form

    def _make_client_fields(self) -> tuple[Line, Line]:
        """Make the fields of an app of the user's own that signs in, shown for an address."""
        tr = self.tr
        self._client_id = named(Line(self), "serverClientId", tr("Client ID"))
        self._client_id.setPlaceholderText(tr("only if it registers no apps by itself"))
        self._client_secret = named(Line(self), "serverClientSecret", tr("Client secret"))
        self._client_secret.setEchoMode(Line.EchoMode.PasswordEchoOnEdit)
        words = tr(
            "Of an app that you registered with its provider, to sign in as; its redirect address "
            "is {address}, at any port. The secret is kept with your keys."
        )
        self._client_note = TextLabel(words.format(address=_CALLBACK), "caption", wraps=True)
        return self._client_id, self._client_secret

    def _make_buttons(self, *, is_new: bool) -> QVBoxLayout:
        theme = self._theme
        self._test = TextButton(theme, self.tr("Test"), "play", self, name="testSheet")
        self._test.setToolTip(self.tr("Start it once, and see which tools it has"))
        self._save = PrimaryButton(
            theme, self.tr("Add") if is_new else self.tr("Save"), parent=self, name="saveServer"
        )
        cancel = TextButton(theme, self.tr("Cancel"), parent=self, name="cancelServer")
        cancel.clicked.connect(self.reject)
        self._save.clicked.connect(self._on_save)
        self._test.clicked.connect(self._on_test)
        self._save.setDefault(True)
        layout = QVBoxLayout()
        layout.addLayout(row(self._test, None, cancel, self._save))
        return layout

    def _fill(self, server: McpServer) -> None:
        self._command.setText(command_text(server))
        self._name_field.setText(server.name)
        self._variables.setPlainText(variables_text(server))
        self._outside.setChecked(server.is_outside)
        self._client_id.setText(server.client_id)
        self._client_secret.setText(server.client_secret)

    def _typed(self) -> McpServer | str:
        typed = server_from(
            self._name_field.text(),
            self._command.text(),
            self._variables.toPlainText(),
            is_outside=self._outside.isChecked(),
            client=(self._client_id.text(), self._client_secret.text()),
            before=self._before,
        )
        if isinstance(typed, McpServer) and typed.name.lower() in self._taken:
            words = self.tr("There is a server “{name}” already: give this one another name.")
            return words.format(name=with_marks(typed.name))
        return typed

    def _look(self) -> None:
        """Check what is typed: whether it can be a server, and what it would be called."""
        typed = self._typed()
        is_fit = isinstance(typed, McpServer)
        for button in (self._save, self._test):
            button.setEnabled(is_fit)
        is_address = self._command.text().strip().startswith(("http://", "https://"))
        if is_address is not self._is_at_address:
            self._is_at_address = is_address
            self._form.setRowVisible(self._outside, not is_address)
            for field in (self._client_id, self._client_secret, self._client_note):
                self._form.setRowVisible(field, is_address)
            fit_dialog(self, self._theme, _WIDE, _HIGH_AT_ADDRESS if is_address else _HIGH)
        self._client_secret.setEnabled(bool(self._client_id.text().strip()))
        self._name_field.setPlaceholderText(suggested_name(self._command.text().strip()))
        if isinstance(typed, str) and self._command.text().strip():
            self._check.show_missing(typed)
        else:
            self._check.clear()

    def _on_test(self) -> None:
        typed = self._typed()
        if isinstance(typed, McpServer):
            self._test.setEnabled(False)
            self._check.show_busy(self.tr("Starting it…"))
            # Until it is saved, its secrets are kept under the name that it has.
            name = self._before.name if self._before is not None else typed.name
            self.test_requested.emit(replace(typed, name=name))

    def _on_save(self) -> None:
        typed = self._typed()
        if isinstance(typed, McpServer):
            before = self._before.name if self._before is not None else ""
            self.saved.emit(typed, before)
            self.accept()


class ImportSheet(QDialog):
    """Signals:
    text_given(str): what is in a file; answered by `add_servers` or `show_error`
    chosen(servers): add these
    """

    text_given = Signal(str)
    chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._servers: dict[str, tuple[str, McpServer]] = {}
        self._on: set[str] = set()
        self.setObjectName("importSheet")
        self.setWindowTitle(self.tr("Import servers"))
        self.list = SwitchList(theme, "importList", self.tr("Servers that were found"), self)
        self.list.switched.connect(self._on_switched)
        about = TextLabel(
            self.tr("What your other apps use. Nothing is started before you add it."),
            "muted",
            wraps=True,
        )
        self._note = TextLabel("", "error", name="importError", wraps=True)
        self._note.hide()
        self._add = PrimaryButton(theme, self.tr("Add"), parent=self, name="addImported")
        self._add.clicked.connect(self._on_add)
        file = GhostButton(theme, self.tr("From a file…"), "folder-open", self, name="importFile")
        file.clicked.connect(self._choose_file)
        cancel = TextButton(theme, self.tr("Cancel"), parent=self, name="cancelImport")
        cancel.clicked.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*(theme.space("l"),) * 4)
        layout.setSpacing(theme.space("m"))
        layout.addWidget(about)
        layout.addWidget(self.list, 1)
        layout.addWidget(self._note)
        layout.addLayout(row(file, None, cancel, self._add))
        fit_dialog(self, theme, _WIDE, _IMPORT_HIGH)
        self._show()

    def add_servers(self, source: str, servers: Sequence[McpServer]) -> None:
        """Offer these too; those of a file are chosen already."""
        for server in servers:
            key = f"{source}/{server.name}"
            self._servers[key] = (source, server)
            if not source:
                self._on.add(key)
        self._note.hide()
        self._show()

    def show_error(self, words: str) -> None:
        """Say why a file can't be used."""
        self._note.setText(with_marks(words))
        self._note.show()

    def _show(self) -> None:
        rows = [
            SwitchRow(
                key,
                with_marks(server.name),
                with_marks(command_text(server)[:300]),
                trailing=source or self.tr("file"),
                icon="server" if server.is_local else "globe",
                is_on=key in self._on,
            )
            for key, (source, server) in self._servers.items()
        ]
        self.list.show_rows(tuple(rows))
        number = len(self._on)
        self._add.set_text(self.tr("Add {n}").format(n=number) if number else self.tr("Add"))
        self._add.setEnabled(number > 0)

    def _on_switched(self, key: str, is_on: bool) -> None:
        (self._on.add if is_on else self._on.discard)(key)
        self._show()

    def _choose_file(self) -> None:
        # Not a static function of Qt's: it waits in a loop of its own, in which this sheet may go.
        dialog = named(QFileDialog(self, self.tr("Import servers")), "importServersDialog")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.give_file)
        dialog.open()

    def give_file(self, path: str) -> None:
        """Read a file that was chosen."""
        try:
            with open(path, encoding="utf-8-sig") as file:  # noqa: PTH123
                text = file.read(1_000_001)
        except (OSError, UnicodeDecodeError) as error:
            self.show_error(str(error))
            return
        self.text_given.emit(text)

    def _on_add(self) -> None:
        self.chosen.emit(tuple(self._servers[key][1] for key in self._servers if key in self._on))
        self.accept()


def ask_before_removing(theme: Theme, name: str, parent: QWidget) -> Question:
    """Return the question whether a server is to be removed; its `accepted` means yes."""
    box = Question(
        theme,
        parent,
        name="removeServerQuestion",
        title=_tr("Remove server?"),
        text=_tr("Remove the server “{name}”?").format(name=with_marks(name)),
        detail=_tr("It is ended, and its secrets are deleted."),
        icon="trash-2",
        token="err",
    )
    box.add(_tr("Remove"), icon="trash-2")
    return box


def _tr(text: str) -> str:
    return QCoreApplication.translate("RemoveServer", text)
