"""Settings: each control changes its field, and nothing else."""

from typing import get_args

import msgspec
import pytest
from PySide6.QtCore import QEvent, QLocale, QObject, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QLineEdit,
    QStackedWidget,
    QWidget,
)

from desktop_agent.core.agents import Budget
from desktop_agent.core.approvals import Rule
from desktop_agent.core.changes import UndoUsage
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import SessionId
from desktop_agent.core.models import KeyInfo, ModelInfo
from desktop_agent.core.requests import Limits
from desktop_agent.core.sandbox import (
    PrivateCache,
    Probe,
    SandboxContents,
    SandboxOptions,
    SandboxState,
)
from desktop_agent.core.settings import CustomServer, ListedModel, Settings
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.dialogs.question import Question
from desktop_agent.gui.language_models.key_form import KeyForm
from desktop_agent.gui.settings.dialog import SettingsDialog
from desktop_agent.gui.settings.index import PageName, setting_entries
from desktop_agent.gui.settings.instructions_group import InstructionsBox
from desktop_agent.gui.settings.rows import ChoiceBox, NumberBox, Switch
from desktop_agent.gui.settings.rule_list import visible
from desktop_agent.gui.settings.sandbox_page import SandboxPage
from desktop_agent.gui.transcript.cards.approval_text import rule_text

SONNET = ModelInfo("anthropic/sonnet", "Sonnet", "anthropic", "", 200_000, True)


@pytest.fixture
def dialog(qtbot, theme):
    one = SettingsDialog(theme, Settings())
    qtbot.addWidget(one)
    one.show()
    qtbot.waitExposed(one)
    return one


def choose(dialog, name, value):
    box = dialog.findChild(ChoiceBox, name)
    box.setCurrentIndex(box.findData(value))
    box.activated.emit(box.currentIndex())


def number(dialog, name, value):
    dialog.findChild(NumberBox, name).setValue(value)


def switch(dialog, name):
    dialog.findChild(Switch, name).click()


CHANGES = [
    (lambda d: choose(d, "theme", "dark"), {"theme": "dark"}),
    (lambda d: choose(d, "textScale", 150), {"text_scale": 150}),
    (lambda d: switch(d, "reduceMotion"), {"reduce_motion": True}),
    (lambda d: choose(d, "defaultMode", "look"), {"mode": "look"}),
    (lambda d: choose(d, "sendKey", True), {"send_with_ctrl_enter": True}),
    (lambda d: choose(d, "steerOnEnter", True), {"steer_on_enter": True}),
    (lambda d: number(d, "maxSteps", 50), {"max_steps": 50}),
    (lambda d: number(d, "shellTimeout", 300), {"shell_timeout_s": 300}),
    (lambda d: number(d, "connectTime", 20), {"limits": Limits(connect_s=20.0)}),
    (lambda d: number(d, "firstByteTime", 60), {"limits": Limits(first_byte_s=60.0)}),
    (lambda d: number(d, "idleTime", 60), {"limits": Limits(idle_s=60.0)}),
    (lambda d: number(d, "retryTime", 30), {"limits": Limits(retry_total_s=30.0)}),
    (lambda d: number(d, "maxRetries", 1), {"limits": Limits(max_retries=1)}),
    (lambda d: switch(d, "hasSubagents"), {"has_subagents": False}),
    (lambda d: number(d, "maxAgents", 3), {"max_agents": 3}),
    (lambda d: number(d, "maxChildren", 2), {"max_children": 2}),
    (lambda d: number(d, "maxDepth", 1), {"max_depth": 1}),
    (lambda d: number(d, "questionTimeout", 60), {"question_timeout_s": 60}),
    (lambda d: number(d, "subagentSteps", 9), {"subagent_budget": Budget(steps=9)}),
    (lambda d: number(d, "subagentCost", 0.25), {"subagent_budget": Budget(cost=0.25)}),
    (lambda d: switch(d, "sandboxGpu"), {"sandbox": SandboxOptions(has_gpu=True)}),
    (lambda d: switch(d, "keepKeysInFile"), {"keep_keys_in_file": True}),
]


class _Styled(QObject):
    """Counts how often a widget was given a style while it filtered the app's events."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def eventFilter(self, _, event):
        self.count += event.type() == QEvent.Type.StyleChange
        return False


def test_opening_does_not_hold_up_the_window_by_styling_each_page_again_and_again(
    qtbot, qapp, theme
):
    styled = _Styled()
    qapp.installEventFilter(styled)
    one = SettingsDialog(theme, Settings())
    qtbot.addWidget(one)
    one.show()
    qtbot.waitExposed(one)
    qapp.removeEventFilter(styled)
    assert styled.count < 4 * len(one.findChildren(QWidget))


def test_a_control_changes_its_own_field_once(dialog):
    seen = []
    dialog.settings_changed.connect(seen.append)
    for change, expected in CHANGES:
        dialog.set_settings(Settings())
        seen.clear()
        change(dialog)
        assert seen == [msgspec.structs.replace(Settings(), **expected)]
        assert msgspec.json.decode(msgspec.json.encode(seen[0]), type=Settings) == seen[0]


def test_a_budget_can_be_taken_away_again_and_leaves_its_neighbour(dialog):
    seen = []
    dialog.settings_changed.connect(seen.append)
    dialog.set_settings(Settings(subagent_budget=Budget(cost=2.0, steps=40)))
    number(dialog, "subagentCost", 0)
    assert dialog.findChild(NumberBox, "subagentCost").text() == "No limit"
    assert [one.subagent_budget for one in seen] == [Budget(steps=40)]


def test_changes_on_two_pages_add_up(dialog):
    seen = []
    dialog.settings_changed.connect(seen.append)
    choose(dialog, "theme", "dark")
    number(dialog, "maxSteps", 9)
    assert (seen[-1].theme, seen[-1].max_steps) == ("dark", 9)


def test_showing_settings_shows_every_one_and_emits_nothing(qtbot, dialog):
    wanted = Settings(
        theme="dark",
        text_scale=125,
        reduce_motion=True,
        mode="free",
        send_with_ctrl_enter=True,
        steer_on_enter=True,
        max_steps=7,
        shell_timeout_s=9,
        limits=Limits(11.0, 12.0, 13.0, 14.0, 3),
    )
    with qtbot.assertNotEmitted(dialog.settings_changed):
        dialog.set_settings(wanted)
    assert dialog.findChild(ChoiceBox, "textScale").currentText() == "125%"
    assert dialog.findChild(NumberBox, "idleTime").value() == 13
    assert dialog.findChild(Switch, "reduceMotion").isChecked()


def test_an_unusual_text_size_shows_the_nearest_choice(dialog):
    dialog.set_settings(Settings(text_scale=160))
    assert dialog.findChild(ChoiceBox, "textScale").currentText() == "150%"


def test_keys_are_shown_with_where_they_are_and_those_of_the_environment_stay(qtbot, dialog):
    dialog.open_page("models")
    dialog.models.set_keys(
        (KeyInfo("anthropic", "environment", "ANTHROPIC_API_KEY"), KeyInfo("openai", "keyring"))
    )
    names = [w.accessibleName() for w in dialog.findChildren(QWidget)]
    assert "Anthropic, From the environment: ANTHROPIC_API_KEY" in names
    delete = dialog.findChildren(QAbstractButton, "deleteKey")
    assert [one.accessibleName() for one in delete] == ["Delete the key of OpenAI"]
    with qtbot.waitSignal(dialog.models.key_deleted) as hit:
        delete[0].click()
    assert hit.args == ["openai"]


def test_a_key_is_tested_before_it_is_kept(qtbot, dialog):
    dialog.show_keys("mistral")
    field = dialog.findChild(QLineEdit, "keyField")
    field.setText("abc")
    with qtbot.waitSignal(dialog.models.key_form.check_requested) as hit:
        dialog.findChild(QAbstractButton, "testKey").click()
    assert hit.args == ["mistral", "", "abc"]
    with qtbot.assertNotEmitted(dialog.models.key_entered):
        dialog.models.key_form.set_result(Fault("auth", "Unauthorized"))
    dialog.findChild(QAbstractButton, "testKey").click()
    with qtbot.waitSignal(dialog.models.key_entered) as hit:
        dialog.models.key_form.set_result(None)
    assert hit.args == ["mistral", "abc", "keyring"]


def test_the_key_of_a_server_is_tested_at_its_address(qtbot, theme):
    gateway = CustomServer("gate:1", "http://gate:1")
    one = SettingsDialog(theme, Settings(servers=(gateway,)))
    qtbot.addWidget(one)
    one.show_keys("http://gate:1/v1")
    one.findChild(QLineEdit, "serverKey").setText("abc")
    with qtbot.waitSignal(one.models.server_form.check_requested) as hit:
        one.findChild(QAbstractButton, "testServer").click()
    assert hit.args == ["openai", "http://gate:1", "abc"]
    with qtbot.waitSignal(one.models.key_entered) as entered:
        one.models.server_form.set_result(None)
    assert entered.args[:2] == ["http://gate:1", "abc"]
    one.show_keys("https://api.openai.com/v1")
    assert one.models.key_form.findChild(QComboBox).currentData() == "openai"


def test_a_form_that_is_being_filled_survives_new_keys(qtbot, dialog):
    dialog.open_page("models")
    field = dialog.findChild(QLineEdit, "keyField")
    field.setText("half a key")
    field.setFocus()
    dialog.models.set_keys((KeyInfo("openai", "keyring"),))
    assert dialog.focusWidget() is field, "what is typed on goes there"
    assert dialog.findChild(QLineEdit, "keyField").text() == "half a key"
    qtbot.waitUntil(field.isVisible)


def test_without_a_keyring_the_choice_of_a_file_is_offered(dialog):
    dialog.open_page("models")
    box = dialog.findChild(Switch, "keepKeysInFile")
    assert not box.isVisible()
    dialog.models.set_has_keyring(False)
    assert box.isVisible()
    box.click()
    assert dialog.findChild(KeyForm).place == "file"


def test_servers_are_added_and_removed(qtbot, dialog):
    dialog.open_page("models")
    address = dialog.findChild(QLineEdit, "serverAddress")
    address.setFocus()
    address.setText("10.0.0.4:8000/v1")
    qtbot.keyClick(address, Qt.Key.Key_Return)
    with qtbot.waitSignal(dialog.settings_changed) as hit:
        dialog.models.server_form.set_result(None)
    assert dialog.focusWidget() is address, "Enter opened the list of models besides"
    added = CustomServer("10.0.0.4:8000", "https://10.0.0.4:8000/v1")
    assert hit.args[0].servers == (added,)
    with qtbot.waitSignal(dialog.settings_changed) as hit:
        dialog.findChild(QAbstractButton, "removeServer").click()
    assert hit.args[0].servers == ()


def test_the_model_of_new_sessions_is_chosen_from_the_list(qtbot, dialog):
    dialog.open_page("models")
    dialog.models.set_models((SONNET,))
    with qtbot.waitSignal(dialog.models.models_requested):
        dialog.findChild(QAbstractButton, "defaultModel").click()
    picker = dialog.findChild(QWidget, "modelPicker")
    qtbot.keyClicks(picker.search, "son")
    with qtbot.waitSignal(dialog.settings_changed) as hit:
        qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    assert hit.args[0].model == "anthropic/sonnet"


def test_models_for_subagents_are_listed_by_hand_alone_and_taken_off_again(qtbot, dialog):
    """The list is what lets an agent send what it read to another model without being asked."""
    dialog.open_page("models")
    there = ModelInfo("openai/qwen", "qwen", "openai", "http://10.0.0.4:8000/v1")
    dialog.models.set_models((SONNET, there))
    add = dialog.findChild(QAbstractButton, "addSubagentModel")
    assert add.accessibleName() == "Models that subagents may use unasked"
    for words in ("son", "qwen"):
        add.click()
        picker = dialog.findChild(QWidget, "modelPicker")
        qtbot.keyClicks(picker.search, words)
        with qtbot.waitSignal(dialog.settings_changed) as hit:
            qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    sonnet, qwen = ListedModel(SONNET.name), ListedModel(there.name, there.api_base)
    assert (hit.args[0].subagent_models, hit.args[0].model) == ((sonnet, qwen), "")
    names = [w.accessibleName() for w in dialog.findChildren(QWidget)]
    assert any(n.startswith("Sonnet, anthropic/sonnet · Anthropic") for n in names)
    assert "qwen, openai/qwen · http://10.0.0.4:8000/v1" in names
    with qtbot.waitSignal(dialog.settings_changed) as hit:
        dialog.findChildren(QAbstractButton, "removeSubagentModel")[0].click()
    assert hit.args[0].subagent_models == (qwen,)


def test_rules_are_listed_with_their_origin_and_deleted(qtbot, dialog):
    dialog.open_page("rules")
    assert dialog.findChild(QWidget, "noRules").isVisible()
    rule = Rule("shell", "pytest", "folder", "/tmp/api", origin="Run the tests?", uses=4)
    deny = Rule("shell", "rm\u202e", "everywhere", is_deny=True)
    dialog.rules.set_rules((rule, deny))
    rows = [one.accessibleName() for one in dialog.findChildren(QWidget, "ruleRow")]
    said = "Commands that start with “pytest”, One folder, /tmp/api · used 4 times · Run the tests?"
    assert rows[0] == said
    assert rows[1].startswith("Never: commands that start with “rm⟨U+202E⟩”, Everywhere")
    with qtbot.waitSignal(dialog.rules.rule_deleted) as hit:
        dialog.findChildren(QAbstractButton, "deleteRule")[0].click()
    assert hit.args == [rule]
    outside, inside = Rule("shell_outside", "docker ps"), Rule("shell_sandboxed", "make test")
    dialog.rules.set_rules((outside, inside))
    rows = [one.accessibleName() for one in dialog.findChildren(QWidget, "ruleRow")]
    assert rows[0].startswith("Commands outside the sandbox that start with “docker ps”, This")
    assert rows[1].startswith("Commands in the sandbox that start with “make test”, This session")
    hosts = Rule("network", "a.example:443"), Rule("web_fetch", "a.example", is_deny=True)
    dialog.rules.set_rules((*hosts, Rule("mcp", "files")))
    rows = [one.accessibleName() for one in dialog.findChildren(QWidget, "ruleRow")]
    words = [f"{rule_text(one)}," for one in hosts]
    assert rows[0].startswith(words[0].capitalize())
    assert rows[1].startswith(f"Never: {words[1]}")
    dialog.rules.set_rules(())
    assert dialog.findChild(QWidget, "noRules").isVisible()


def added(qtbot, dialog):
    made = []
    dialog.rules.rule_added.connect(made.append)
    return made


def test_a_refusing_rule_is_made_by_keys_alone(qtbot, dialog):
    dialog.open_page("rules")
    made = added(qtbot, dialog)
    field = dialog.findChild(QLineEdit, "refusePattern")
    button = dialog.findChild(QAbstractButton, "addRefusal")
    assert not button.isEnabled(), "an empty rule would refuse everything"
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert made == []
    qtbot.keyClicks(field, " git   push ")
    assert button.isEnabled()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert made == [Rule("shell", "git push", "everywhere", is_deny=True)]
    assert field.text() == ""


def test_a_refusing_rule_may_hold_in_the_open_folder_alone(qtbot, dialog):
    dialog.open_page("rules")
    assert dialog.findChild(ChoiceBox, "refuseScope").count() == 1
    dialog.rules.set_folder("/tmp/api")
    made = added(qtbot, dialog)
    choose(dialog, "refuseKind", "files")
    choose(dialog, "refuseScope", "folder")
    qtbot.keyClicks(dialog.findChild(QLineEdit, "refusePattern"), "migrations/*")
    dialog.findChild(QAbstractButton, "addRefusal").click()
    assert made == [
        Rule(tool, "migrations/*", "folder", "/tmp/api", is_deny=True) for tool in ("write", "edit")
    ]


def test_a_star_behind_a_command_that_is_refused_is_left_out(qtbot, dialog):
    dialog.open_page("rules")
    made = added(qtbot, dialog)
    field = dialog.findChild(QLineEdit, "refusePattern")
    for text in ("git push*", "git push *", "git push:*"):
        field.setText(text)
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert made == [Rule("shell", "git push", "everywhere", is_deny=True)] * 3


def test_a_host_is_refused_by_its_name(qtbot, dialog):
    dialog.open_page("rules")
    made = added(qtbot, dialog)
    choose(dialog, "refuseKind", "hosts")
    field = dialog.findChild(QLineEdit, "refusePattern")
    wrong = dialog.findChild(QLabel, "wrongRefusal")
    for text in ("two words", "*.example.com", "münchen.de", "example.com:"):
        field.setText(text)
        assert not dialog.findChild(QAbstractButton, "addRefusal").isEnabled()
        assert wrong.text(), text
    for text in ("Example.com", "https://example.com/a?b", "example.com.", "example.com:8443"):
        field.setText(text)
        assert not wrong.text()
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert made == [
        *[Rule("web_fetch", "example.com", "everywhere", is_deny=True)] * 3,
        Rule("network", "example.com:8443", "everywhere", is_deny=True),
    ]


def test_hidden_characters_of_a_rule_are_made_visible():
    assert visible("a\u200bb\nc é") == "a\\u200bb\\u000ac é"


def test_the_licences_can_be_read(qtbot, dialog):
    dialog.open_page("about")
    button = dialog.findChild(QAbstractButton, "showLicences")
    qtbot.waitUntil(button.isVisible)
    button.click()
    texts = dialog.findChild(QWidget, "licenceTexts")
    assert texts.isVisible()
    assert "SIL OPEN FONT LICENSE" in texts.toPlainText().upper()
    assert "ISC" in texts.toPlainText()
    # It opens below what could be seen.
    qtbot.waitUntil(lambda: texts.visibleRegion().boundingRect().height() == texts.height())


def test_every_page_is_reached_by_keyboard_and_every_control_has_a_name(qtbot, dialog):
    names = dialog.findChild(QWidget, "settingsPages")
    names.setFocus()
    for number in range(7):
        pages = dialog.findChild(QStackedWidget)
        assert pages.currentIndex() == number
        page = pages.currentWidget()
        controls = [*page.findChildren(QAbstractButton), *page.findChildren(QLineEdit)]
        nameless = [c.objectName() for c in controls if c.isVisible() and not c.accessibleName()]
        assert [name for name in nameless if name != "qt_spinbox_lineedit"] == []
        qtbot.keyClick(names, Qt.Key.Key_Down)


def test_the_wheel_over_a_control_changes_nothing(dialog):
    labels = [one.text() for one in dialog.findChildren(QLabel)]
    assert "Text size" in labels
    box = dialog.findChild(ChoiceBox, "textScale")
    assert box.accessibleName() == "Text size"


def test_with_large_text_the_window_stays_on_the_screen(qtbot, theme, dialog):
    room = dialog.screen().availableGeometry()
    dialog.move(room.left() + 120, room.top() + 300)
    theme.configure("light", 150)
    try:
        assert room.contains(dialog.frameGeometry())
    finally:
        theme.configure("light", 100)


def test_what_is_kept_for_undo_is_listed_and_emptied_once_agreed(dialog, qtbot):
    usage = (UndoUsage("/home/ada/shop", 12_300_000, 1_700_000_000.0), UndoUsage("/x\u202e", 5, 0))
    dialog.undo.set_usage(usage)
    emptied = []
    dialog.undo.emptied.connect(emptied.append)
    dialog.open_page("behaviour")
    rows = [one.accessibleName() for one in dialog.undo.findChildren(QWidget)]
    assert any(one.startswith("/home/ada/shop, 12 MB · since ") for one in rows)
    assert "/x⟨U+202E⟩, 5 bytes" in rows
    dialog.undo.findChildren(QAbstractButton, "emptyUndo")[0].click()
    box = dialog.undo.findChild(Question, "emptyUndoQuestion")
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert not emptied
    dialog.undo.findChildren(QAbstractButton, "emptyUndo")[0].click()
    boxes = dialog.undo.findChildren(Question, "emptyUndoQuestion")
    box = next(one for one in boxes if one.isVisible())
    next(one for one in box.buttons() if one.text().strip() == "Empty").click()
    assert emptied == ["/home/ada/shop"]


def test_the_sandbox_page_tells_what_was_tried_and_checks_again(dialog, qtbot):
    dialog.open_page("sandbox")
    page = dialog.findChild(SandboxPage)
    again = page.findChild(QAbstractButton, "checkSandbox")
    assert not again.isEnabled()
    probes = (Probe("read a secret", held=True), Probe("tcp", held=False, words="A host answered."))
    dialog.sandbox.set_sandbox(
        SandboxState(reason="A host answered.", remedy="Run: x", probes=probes)
    )
    spoken = [label.accessibleName() for label in page.findChildren(QLabel)]
    assert {"held: read a secret", "did not hold: A host answered."} <= set(spoken)
    assert page.findChild(QLabel, "sandboxWords").text() == "A host answered."
    assert page.findChild(QLabel, "sandboxRemedy").text() == "Run: x"
    fix = page.findChild(QAbstractButton, "fixSandbox")
    assert fix.isHidden()
    dialog.sandbox.set_sandbox(SandboxState(reason="It is gone.", command=("pkexec", "x")))
    with qtbot.waitSignal(dialog.sandbox.fix_requested) as asked:
        fix.click()
    assert asked.args == [fix]
    with qtbot.waitSignal(dialog.sandbox.check_requested):
        again.click()
    assert page.findChild(QLabel, "sandboxWords").text() == "Checking…"
    assert not again.isEnabled()
    dialog.sandbox.set_sandbox(SandboxState(holds=True, reason="", probes=probes[:1]))
    assert again.isEnabled()
    assert page.findChild(QLabel, "sandboxRemedy").isHidden()


def test_hosts_of_commands_are_listed_allowed_for_a_folder_or_a_session_and_taken_back(
    dialog, qtbot
):
    dialog.open_page("sandbox")
    page = dialog.sandbox
    made, gone = [], []
    page.rule_added.connect(made.append)
    page.rule_deleted.connect(gone.append)
    field = dialog.findChild(QLineEdit, "allowHost")
    wrong = dialog.findChild(QLabel, "wrongHost")
    qtbot.keyClicks(field, "pypi.example")
    assert "Open a folder first" in wrong.text()
    page.set_place(Workspace("/tmp/api"), SessionId("se_1"))
    assert wrong.isHidden()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    choose(dialog, "hostScope", "session")
    qtbot.keyClicks(field, " https://Packages.Example:8443/simple/?x=1 ")
    dialog.findChild(QAbstractButton, "addHost").click()
    choose(dialog, "hostScope", "folder")
    qtbot.keyClicks(field, "localhost:5432")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    rules = (
        Rule("network", "pypi.example", "folder", "/tmp/api"),
        Rule("network", "packages.example:8443", "session", "se_1"),
    )
    assert made == [*rules, Rule("network", "localhost:5432", "folder", "/tmp/api")]

    page.set_rules((Rule("shell", "pytest"), *rules))
    rows = [one.accessibleName() for one in page.findChildren(QWidget, "ruleRow")]
    assert [row.split(",")[0] for row in rows] == ["pypi.example", "packages.example:8443"]
    page.findChildren(QAbstractButton, "deleteRule")[0].click()
    assert gone == [rules[0]]


@pytest.mark.parametrize(
    "host", ["localhost", "0x7f.0x1", "two words", "x:99999", "ftp://me@x.y", "http://10.0.0.4:80/"]
)
def test_what_is_no_host_out_there_is_refused_in_words(dialog, qtbot, host):
    dialog.open_page("sandbox")
    dialog.sandbox.set_place(Workspace("/tmp/api"), None)
    qtbot.keyClicks(dialog.findChild(QLineEdit, "allowHost"), host)
    assert not dialog.findChild(QAbstractButton, "addHost").isEnabled()
    assert dialog.findChild(QLabel, "wrongHost").text()


def test_toolchains_are_hidden_from_commands_and_shown_again(dialog, qtbot):
    dialog.open_page("sandbox")
    paths = ("/home/a/.nvm", "/home/a/.pyenv")
    dialog.sandbox.set_contents(SandboxContents(paths))
    for wanted in (("/home/a/.pyenv",), ()):
        with qtbot.waitSignal(dialog.settings_changed) as hit:
            switches = dialog.sandbox.findChildren(Switch, "showToolchain")
            switches[1].click()
        assert hit.args[0].sandbox == SandboxOptions(hidden=wanted)
        assert switches[1].isChecked() == (not wanted)
        assert switches[1].accessibleName() == "Commands see /home/a/.pyenv"


def test_caches_are_listed_by_their_folders_and_emptied_each_by_itself(dialog, qtbot):
    with qtbot.waitSignal(dialog.sandbox.contents_requested):
        dialog.open_page("sandbox")
    caches = (PrivateCache("a", "/tmp/api", 1_240_000_000), PrivateCache("b", "", 5000))
    dialog.sandbox.set_contents(SandboxContents(caches=caches))
    names = [one.accessibleName() for one in dialog.sandbox.findChildren(QWidget)]
    assert f"/tmp/api, {QLocale().toString(1.2, 'f', 1)} GB" in names
    buttons = dialog.sandbox.findChildren(QAbstractButton, "emptyCache")
    assert buttons[0].accessibleName() == "Empty the cache of /tmp/api"
    with qtbot.waitSignal(dialog.sandbox.cache_emptied) as hit:
        buttons[1].click()
    assert hit.args == ["b"]
    assert not buttons[1].isEnabled(), "it is being emptied"
    dialog.sandbox.set_contents(SandboxContents(caches=caches[:1]))
    assert len(dialog.sandbox.findChildren(QAbstractButton, "emptyCache")) == 1


def test_the_palette_offers_each_setting_by_the_name_it_has_here(dialog):
    """One that is missing there, or is called otherwise, is not found by typing."""
    kinds = (ChoiceBox, NumberBox, Switch, InstructionsBox)
    for page in get_args(PageName):
        dialog.open_page(page)
    controls = [one for kind in kinds for one in dialog.findChildren(kind)]
    # What belongs to a new rule or place is none; one whose card is hidden is offered by its page.
    for_a_rule = ("hostScope", "refuseKind", "refuseScope", "placeKind")
    found = {
        one.objectName(): one.accessibleName()
        for one in controls
        if one.objectName() not in (*for_a_rule, "") and not is_hidden(one)
    }
    offered = {one.control: one for one in setting_entries()}
    assert set(offered) == {*found, "defaultModel", "addSubagentModel", "placeName"}
    for name, spoken in found.items():
        assert offered[name].title.rpartition(": ")[2] == spoken
    for one in offered.values():
        dialog.open_setting(one.page, one.control)
        assert dialog.findChild(QWidget, one.control).isVisible(), one


def is_hidden(control):
    page = control
    while page is not None and not isinstance(page, QStackedWidget):
        if page.isHidden() and not isinstance(page.parentWidget(), QStackedWidget):
            return True
        page = page.parentWidget()
    return False


def test_a_screen_reader_hears_what_is_chosen_and_what_for(dialog):
    for name in ("theme", "textScale", "defaultMode", "sendKey", "steerOnEnter"):
        control = dialog.findChild(ChoiceBox, name)
        heard = QAccessible.queryAccessibleInterface(control)
        assert heard.role() == QAccessible.Role.ComboBox
        assert heard.text(QAccessible.Text.Value) == control.currentText()
        labels = [
            label.text(QAccessible.Text.Name)
            for label, relation in heard.relations()
            if relation == QAccessible.RelationFlag.Label
        ]
        # On Linux the name of a box is its choice; what it is for is its label.
        assert labels == [control.accessibleName()]
