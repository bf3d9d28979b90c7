"""The card that asks: what it shows, when it can be answered, and by what."""

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPlainTextEdit, QPushButton

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import AllowAlways, AllowOnce, Deny, Edited, Rule
from desktop_agent.core.events import ApprovalResolved, CommandRefused
from desktop_agent.core.messages import CommandDisplay, DiffDisplay, UrlDisplay
from desktop_agent.core.parts.containment import LEAVES, MAY_CHANGE, Containment
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from desktop_agent.gui.transcript.cards.approval_forms import RefuseForm
from desktop_agent.gui.transcript.cards.approval_text import rule_text
from desktop_agent.gui.transcript.cards.diff_view import DiffView
from desktop_agent.gui.transcript.cards.factory import LineCard
from desktop_agent.gui.transcript.cards.tool_text import tool_text
from tests.gui.transcript.conftest import tick, wait_until_written
from tests.gui.transcript.story import (
    AGENT,
    PATCH,
    begins,
    call,
    gives,
    needs,
    opened,
    runs,
    says,
)
from tests.helpers.panels import open_page

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def ask(view):
    """Open a session in which a call waits; return its card."""

    def ask(tool_call=None, agents=None, **more):
        one = tool_call or call(1, command="pytest -q")
        events = (begins(), says(1, "I will.", one), needs(one, **more))
        open_page(view, opened(*events, status="running", agents=agents))
        card = view.cards.cards["rq_1"]
        assert isinstance(card, ApprovalCard)
        return card

    return ask


def button(card, name):
    return card.findChild(QPushButton, name)


def words(card):
    return " ".join(label.text() for label in card.findChildren(QLabel))


@pytest.mark.parametrize("lost", [(), ("b" * 250 + "/name.sh",)])
def test_all_of_a_long_name_is_seen_before_it_is_changed_or_deleted(ask, view, lost):
    path = f"src/{'a' * 250}/{'Name' * 60}.sh"
    view.resize(640, 600)
    card = ask(call(1, "edit", path=path), display=DiffDisplay(path, PATCH, 1, 1), lost=lost)
    label = card.findChild(QLabel, "approvalTarget")
    said = label.text().replace("\u200b", "")
    assert said == (f"{lost[0]} for good" if lost else path)
    room, flags = QRect(0, 0, label.width(), 0), Qt.TextFlag.TextWordWrap
    assert label.fontMetrics().boundingRect(room, flags, label.text()).width() <= room.width()


def test_a_command_stands_in_the_order_it_is_run_in_whatever_its_letters_are(ask, qtbot, clock):
    command = "ls\nשלום && rm -rf x # abc"
    card = ask(call(1, command=command), display=CommandDisplay(command, "/folder"))
    document = card.findChild(QPlainTextEdit).document()
    assert document.findBlockByNumber(1).textDirection() == Qt.LayoutDirection.LeftToRight
    clock.advance(1)
    qtbot.mouseClick(button(card, "editCall"), LEFT)
    document = card.findChild(QPlainTextEdit, "editField").document()
    assert document.findBlockByNumber(1).textDirection() == Qt.LayoutDirection.LeftToRight


@pytest.mark.parametrize("path", ["שלום (1).txt", "a/שלום.txt"])
def test_a_path_reads_from_left_to_right_and_is_not_copied_with_a_mark(ask, path):
    card = ask(call(1, "edit", path=path), display=DiffDisplay(path, PATCH, 1, 1))
    label = card.findChild(QLabel, "approvalTarget")
    assert label.text() == f"\u200e{path}"
    assert label.textInteractionFlags() == Qt.TextInteractionFlag.LinksAccessibleByMouse


def test_the_whole_command_is_shown_with_its_folder_stakes_and_reason(ask):
    command = "pytest " + "-k some_test " * 200
    display = CommandDisplay(command, "/folder/inner")
    card = ask(display=display, stakes=("runs a program", "cannot be undone"))
    assert card.findChild(QPlainTextEdit).toPlainText() == "$ " + "\n".join(
        [f"$ {command}"[at : at + 1_000] for at in range(0, len(command) + 2, 1_000)]
    ).removeprefix("$ ")
    for said in ("Run a command?", "Runs in /folder/inner", "runs a program", "cannot be undone"):
        assert said in words(card)
    assert "not proven to be read-only" in words(card)


def test_hidden_characters_of_a_command_show(ask):
    hidden, seen = "rm \u202e-rf\u200b ~\x1b[8m", "rm ⟨U+202E⟩-rf⟨U+200B⟩ ~⟨U+001B⟩[8m"
    card = ask(command=hidden, title="Run\u202e this?")
    assert card.findChild(QLabel, "approvalTarget").text() == seen
    assert "\u202e" not in card.accessibleName()
    card = ask(command=f"{hidden}\n{hidden}", title="Run\u202e this?")
    assert card.findChild(QPlainTextEdit).toPlainText() == f"$ {seen}\n{seen}"
    assert "Run⟨U+202E⟩ this?" in words(card)
    assert "\u202e" not in card.accessibleName()


@pytest.mark.parametrize("more", ["x" * 200, "one\ntwo", "many words " * 30])
def test_a_command_that_is_not_one_short_line_has_a_field_of_its_own(ask, more):
    card = ask(command=f"echo {more}")
    assert card.findChild(QLabel, "approvalTarget") is None
    assert "".join(more.split()) in "".join(card.findChild(QPlainTextEdit).toPlainText().split())


@pytest.mark.parametrize(
    ("arguments", "kept", "verb"),
    [
        ({}, None, "Run"),
        ({"run_in_background": True}, Containment(), "Run in the background"),
        ({}, Containment(is_contained=False, reason="x"), "Run outside"),
    ],
)
def test_a_short_command_stands_behind_its_verb(ask, arguments, kept, verb):
    display = CommandDisplay("npm start", "/folder", ("npm start",), kept)
    card = ask(call(1, command="npm start", **arguments), display=display)
    assert card.findChild(QLabel, "approvalTarget").text() == "npm start"
    assert verb in [label.text() for label in card.findChildren(QLabel)]


def test_the_button_for_rules_names_the_one_beginning_there_is(ask):
    assert button(ask(), "allowAlways").accessibleName() == "Always allow “pytest …”"
    both = (Rule("shell", "pytest"), Rule("shell", "git log"))
    assert button(ask(rules=both), "allowAlways").accessibleName() == "Always allow…"
    one = DiffDisplay("src/a.py", PATCH, 1, 1)
    change = ask(call(1, "edit", path="src/a.py"), display=one, rules=(Rule("edit", "src/a.py"),))
    assert button(change, "allowAlways").accessibleName() == "Always allow for “a.py”"


@pytest.mark.parametrize("kept", [Containment(), Containment(is_contained=False, reason="x")])
def test_a_reason_that_only_repeats_what_it_can_reach_is_not_said_twice(ask, kept):
    display = CommandDisplay("make", "/folder", ("make",), kept)
    for said in (LEAVES, MAY_CHANGE):
        assert said.removesuffix(".") not in words(ask(display=display, reason=said))
    assert "It deletes a" in words(ask(display=display, reason="It deletes a."))


def test_a_change_is_shown_as_a_diff(ask):
    card = ask(display=DiffDisplay("a.py", PATCH, 1, 1))
    assert "a.py" in words(card)
    said = card.findChild(DiffView).accessibleDescription()
    assert said.startswith("Line ")
    assert {"added", "removed"} <= set(said.replace(":", "").split())
    assert said in card.accessibleName()
    assert "@@" not in said


def new_file(lines):
    patch = f"--- /dev/null\n+++ b/src/clock.py\n@@ -0,0 +1,{lines} @@\n"
    patch += "".join(f"+line {number}\n" for number in range(lines))
    return DiffDisplay("src/clock.py", patch, lines, 0, is_new=True)


def test_a_new_file_is_its_text_and_not_a_diff_against_nothing(ask):
    card = ask(call(1, "write", path="src/clock.py"), display=new_file(5))
    assert card.findChild(QLabel, "approvalTarget").text() == "src/clock.py"
    assert "Create" in words(card)
    assert card.findChild(DiffView).line_count == 5
    said = "line 0\nline 1\nline 2\nline 3\nline 4"
    assert card.findChild(DiffView).accessibleDescription() == said
    assert said in card.accessibleName()
    assert "/dev/null" not in card.accessibleName()
    assert button(card, "showWholeFile") is None


def test_a_new_file_that_ends_without_a_line_break_is_its_text_as_well(ask):
    patch = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n\\ No newline at end of file\n"
    card = ask(call(1, "write", path="a.txt"), display=DiffDisplay("a.txt", patch, 1, 0, True))
    assert card.findChild(DiffView).accessibleDescription() == "one"
    assert card.findChild(DiffView).line_count == 1


def test_a_long_new_file_is_folded_and_opens(ask, view, qtbot):
    card = ask(call(1, "write", path="src/clock.py"), display=new_file(22))
    low = card.height()
    assert button(card, "showWholeFile").accessibleName() == "Show 10 more lines"
    assert "22 lines" in words(card)
    qtbot.mouseClick(button(card, "showWholeFile"), LEFT)
    qtbot.waitUntil(lambda: card.height() > low)
    assert not button(card, "showWholeFile").isVisible()


def test_a_name_with_the_end_of_a_line_in_it_is_one_name(ask):
    path, marked = "a\nb.txt", "a⟨U+000A⟩b.txt"
    edit = call(1, "write", path=path)
    card = ask(edit, display=DiffDisplay(path, PATCH, 1, 1))
    assert card.findChild(QLabel, "approvalTarget").text() == marked
    assert marked in rule_text(Rule("write", path))
    assert tool_text(edit).target == marked


def test_what_is_deleted_for_good_is_a_name_a_line(ask):
    card = ask(command="rm -rf *", lost=("a\nb.txt", "c"))
    assert card.findChild(QPlainTextEdit, "lostFiles").toPlainText() == "a⟨U+000A⟩b.txt\nc"


@pytest.mark.parametrize("is_new", [True, False])
def test_why_there_is_no_diff_stands_in_its_place(ask, is_new):
    note = "[Too large or not text: 5 bytes become 7.]"
    card = ask(call(1, "write", path="a.bin"), display=DiffDisplay("a.bin", note, 0, 0, is_new))
    assert card.findChild(DiffView).line_count == 1
    assert card.findChild(DiffView).accessibleDescription() == note
    assert note in card.accessibleName()


def test_a_change_of_one_place_has_no_line_numbers_of_a_hunk_above_it(ask):
    shown = ask(display=DiffDisplay("a.py", PATCH, 1, 1)).findChild(DiffView)
    assert shown.line_count == 4


def test_what_can_not_come_back_is_named_and_never_allowed_by_enter_or_by_a_rule(
    view, ask, qtbot, clock
):
    decided = []
    view.decided.connect(lambda _, decision: decided.append(decision))
    card = ask(command="rm -rf build data.bin", lost=("build/", "data.bin"))
    assert card.findChild(QLabel, "approvalTarget").text() == "2 things for good"
    assert card.findChild(QLabel, "deletingCommand").text() == "rm -rf build data.bin"
    assert card.findChild(QPlainTextEdit, "lostFiles").toPlainText() == "build/\ndata.bin"
    assert button(card, "allowAlways") is None
    clock.advance(1)
    card.setFocus()
    qtbot.keyClick(card, Qt.Key.Key_Return)
    assert decided == []
    qtbot.mouseClick(button(card, "allowOnce"), LEFT)
    assert decided == [AllowOnce()]


def test_an_address_is_shown_whole(ask):
    card = ask(display=UrlDisplay("https://x.y/" + "p/" * 40))
    assert card.findChild(QPlainTextEdit).toPlainText() == "GET https://x.y/" + "p/" * 40


@pytest.mark.parametrize(
    ("kept", "reach"),
    [
        (Containment(), "In the sandbox: can change this folder · new hosts are asked about"),
        (
            Containment(is_changing=False),
            "In the sandbox: can change nothing · new hosts are asked about",
        ),
        (
            Containment(is_wide=True),
            "In the sandbox: can change your home folder · new hosts are asked about",
        ),
        (Containment(is_git_writable=True), "can change this folder and its repository"),
    ],
)
def test_a_command_in_the_sandbox_says_what_it_can_reach(ask, kept, reach):
    card = ask(display=CommandDisplay("make", "/folder", ("make",), kept))
    assert reach in words(card)
    assert reach in card.accessibleName()
    assert button(card, "allowOnce").accessibleName() == "Allow once"


def test_all_are_allowed_together_in_the_sandbox_and_none_outside_of_it(view, qtbot, clock):
    kinds = (Containment(), Containment(), Containment(is_contained=False, reason="x"))
    one = call(1, command="docker ps")
    asked = [
        needs(
            call(number, command="docker ps"),
            number,
            display=CommandDisplay("docker ps", "/folder", ("docker ps",), kept),
            rules=(Rule("shell", "docker ps"),),
        )
        for number, kept in enumerate((*kinds, kinds[2]), 1)
    ]
    open_page(view, opened(begins(), says(1, "I will.", one), *asked, status="running"))
    clock.advance(1)
    cards = [view.cards.cards[f"rq_{number}"] for number in range(1, 5)]
    shown = [not button(card, "allowAll").isHidden() for card in cards]
    assert shown == [True, True, False, False]
    allowed = []
    view.decided.connect(lambda request, _: allowed.append(request))
    qtbot.mouseClick(button(cards[0], "allowAll"), LEFT)
    assert allowed == ["rq_1", "rq_2"]


def test_a_command_outside_shows_the_models_reason_and_is_not_answered_by_enter(
    view, ask, qtbot, clock
):
    kept = Containment(is_contained=False, reason="It needs\u202e docker.")
    display = CommandDisplay("docker ps", "/folder", ("docker ps",), kept)
    card = ask(display=display, rules=(), title="Run a command outside the sandbox?")
    clock.advance(1)
    assert "Not in the sandbox: can change any of your files" in words(card)
    assert card.findChild(QLabel, "modelsReason").text() == "“It needs⟨U+202E⟩ docker.”"
    assert "Why, in the model's words" in words(card)
    assert button(card, "allowAlways") is None
    assert "Enter" not in card.accessibleDescription()
    assert view.focus_oldest_approval()
    with qtbot.assertNotEmitted(view.decided):
        qtbot.keyClick(card, Qt.Key.Key_Return)
    with qtbot.waitSignal(view.decided) as hit:
        qtbot.mouseClick(button(card, "allowOnce"), LEFT)
    assert hit.args == ["rq_1", AllowOnce()]


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_allows_only_when_the_card_has_the_focus(view, ask, qtbot, clock, key):
    card = ask()
    clock.advance(1)
    view.browser.setFocus()
    with qtbot.assertNotEmitted(view.decided):
        qtbot.keyClick(view.browser, key)
    assert view.focus_oldest_approval()
    assert card.hasFocus()
    with qtbot.waitSignal(view.decided) as hit:
        qtbot.keyClick(card, key)
    assert hit.args == ["rq_1", AllowOnce()]


def test_the_sign_of_enter_stands_on_the_button_only_while_enter_is_the_cards(view, ask, qtbot):
    card = ask()
    allow = button(card, "allowOnce")
    width = allow.width()
    assert allow.icon().isNull()
    view.focus_oldest_approval()
    assert not allow.icon().isNull()
    view.browser.setFocus()
    assert allow.icon().isNull()
    assert allow.width() == width


def test_tab_goes_through_the_request_and_then_to_the_message_box(view, ask, qtbot):
    card = ask()
    view.focus_oldest_approval()
    visited = []
    left = []
    view.compose_requested.connect(lambda: left.append(True))
    while not left and len(visited) < 9:
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        visited.append(QApplication.focusWidget())
    assert left
    assert all(card.isAncestorOf(one) for one in visited)
    assert button(card, "refuse") in visited


def test_nothing_counts_in_the_first_moment(view, ask, qtbot, clock):
    card = ask()
    card.setFocus()
    clock.advance(0.39)
    with qtbot.assertNotEmitted(view.decided):
        qtbot.keyClick(card, Qt.Key.Key_Return)
        qtbot.mouseClick(button(card, "allowOnce"), LEFT)
        qtbot.mouseClick(button(card, "allowAlways"), LEFT)
        qtbot.mouseClick(button(card, "refuse"), LEFT)
    assert card.findChild(QLineEdit, "refuseReason") is None
    clock.advance(0.02)
    with qtbot.waitSignal(view.decided):
        qtbot.mouseClick(button(card, "allowOnce"), LEFT)


def test_a_new_card_takes_no_focus(view, qtbot):
    one = call(1)
    open_page(view, opened(begins(), says(1, "", one), status="running"))
    view.browser.setFocus()
    with qtbot.waitSignal(view.waiting_changed) as hit:
        view.apply([needs(one)])
    assert hit.args == [1]
    assert view.waiting_count() == 1
    assert view.browser.hasFocus()


def test_a_second_click_decides_nothing_more(view, ask, qtbot, clock):
    card = ask()
    clock.advance(1)
    decisions = []
    view.decided.connect(lambda _id, decision: decisions.append(decision))
    allow = button(card, "allowOnce")
    qtbot.mouseClick(allow, LEFT)
    qtbot.mouseClick(allow, LEFT)
    qtbot.keyClick(card, Qt.Key.Key_Return)
    assert decisions == [AllowOnce()]


def test_a_decision_that_could_not_be_saved_can_be_made_again(view, ask, qtbot, clock):
    card = ask()
    clock.advance(1)
    decided = []
    view.decided.connect(lambda request, decision: decided.append(request))
    qtbot.mouseClick(button(card, "allowOnce"), LEFT)
    assert not card.isEnabled()
    failed = CommandRefused("decide", "Your decision was not saved. The disk is full.", AGENT)
    view.apply([failed])
    clock.advance(1)
    qtbot.mouseClick(button(view.cards.cards["rq_1"], "allowOnce"), LEFT)
    assert decided == ["rq_1", "rq_1"]


def test_esc_asks_for_a_refusal_and_does_not_refuse_by_itself(view, ask, qtbot, clock):
    card = ask()
    clock.advance(1)
    card.setFocus()
    with qtbot.assertNotEmitted(view.decided):
        qtbot.keyClick(card, Qt.Key.Key_Escape)
    field = card.findChild(QLineEdit, "refuseReason")
    assert field.hasFocus()
    qtbot.keyClicks(field, "use uv instead")
    with qtbot.waitSignal(view.decided) as hit:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert hit.args == ["rq_1", Deny("use uv instead")]


def test_a_refusal_for_always_says_exactly_what_it_refuses(view, ask, qtbot, clock):
    deny = Rule("shell", "git push", is_deny=True)
    card = ask(refusals=(deny, Rule("shell", "git", is_deny=True)))
    clock.advance(1)
    qtbot.mouseClick(button(card, "refuse"), LEFT)
    qtbot.keyClicks(card.findChild(QLineEdit, "refuseReason"), "ask me")
    assert button(card, "refuseAlways").isVisible()
    menu = card.findChild(RefuseForm).rule_menu()
    said = [action.text() for action in menu.actions() if not action.isSeparator()]
    assert said == [
        f"Always refuse commands that start with “{pattern}”, {scope}"
        for pattern in ("git push", "git")
        for scope in ("for this session", "in this folder", "everywhere")
    ]
    with qtbot.waitSignal(view.decided) as hit:
        menu.actions()[1].trigger()
    decision = hit.args[1]
    assert isinstance(decision, Deny)
    assert decision.reason == "ask me"
    assert decision.rule is not None
    assert (decision.rule.pattern, decision.rule.is_deny) == ("git push", True)
    assert (decision.rule.scope, decision.rule.where) == ("folder", "/folder")


def test_without_a_refusing_rule_a_refusal_is_for_this_once(ask, qtbot, clock):
    card = ask(refusals=())
    clock.advance(1)
    qtbot.mouseClick(button(card, "refuse"), LEFT)
    assert button(card, "refuseAlways") is None


@pytest.mark.parametrize("width", [300, 400, 800])
def test_the_refusal_fits_into_a_narrow_card(view, ask, qtbot, clock, width):
    view.resize(width, 700)
    card = ask(refusals=(Rule("shell", "git push", is_deny=True),))
    clock.advance(1)
    qtbot.mouseClick(button(card, "refuse"), LEFT)
    for _ in range(3):
        QApplication.processEvents()
    for name in ("refuseNow", "refuseAlways"):
        one = button(card, name)
        assert card.rect().contains(one.mapTo(card, one.rect().bottomRight()))


def test_going_back_from_a_refusal_asks_again(view, ask, qtbot, clock):
    card = ask()
    clock.advance(1)
    qtbot.mouseClick(button(card, "refuse"), LEFT)
    with qtbot.assertNotEmitted(view.decided):
        qtbot.keyClick(card.findChild(QLineEdit, "refuseReason"), Qt.Key.Key_Escape)
    assert button(card, "allowOnce").isVisible()
    assert card.hasFocus()
    with qtbot.waitSignal(view.decided) as hit:
        qtbot.keyClick(card, Qt.Key.Key_Return)
    assert hit.args[1] == AllowOnce()


def test_the_menu_says_exactly_what_each_rule_covers(view, ask, qtbot, clock):
    card = ask(rules=(Rule("shell", "pytest"),))
    clock.advance(1)
    menu = card.rule_menu()
    assert [action.text() for action in menu.actions()] == [
        "Always allow commands that start with “pytest”, for this session",
        "Always allow commands that start with “pytest”, in this folder",
        "Always allow commands that start with “pytest”, everywhere",
    ]
    with qtbot.waitSignal(view.decided) as hit:
        menu.actions()[1].trigger()
    decision = hit.args[1]
    assert isinstance(decision, AllowAlways)
    assert (decision.rule.scope, decision.rule.where) == ("folder", "/folder")
    assert (decision.rule.tool, decision.rule.pattern) == ("shell", "pytest")


def test_the_menu_of_rules_opens_at_its_button(ask, qtbot, clock):
    card = ask()
    clock.advance(1)
    qtbot.mouseClick(button(card, "allowAlways"), LEFT)
    menu = QApplication.activePopupWidget()
    assert [one.text() for one in menu.actions()] == [
        one.text() for one in card.rule_menu().actions()
    ]
    menu.close()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Rule("shell", "git log"), "commands that start with “git log”"),
        (Rule("shell_sandboxed", "git log"), "commands that start with “git log”"),
        (
            Rule("shell_outside", "docker ps"),
            "commands outside the sandbox that start with “docker ps”",
        ),
        (Rule("edit", "src/*.py"), "changes to files that match “src/*.py”"),
        (Rule("write", "*"), "every change that “write” makes"),
        (Rule("web_fetch", "example.com"), "requests to example.com"),
        (Rule("spawn", "xai/grok at api.x.ai"), "subagents on xai/grok at api.x.ai"),
        (Rule("mcp_x", ""), "everything that “mcp_x” does"),
        (Rule("shell", "rm\u202e"), "commands that start with “rm⟨U+202E⟩”"),
    ],
)
def test_a_rule_is_told_in_plain_words(rule, said):
    assert rule_text(rule) == said


def test_several_edits_at_once_offer_no_field_for_one_of_them(ask):
    edits = [{"old_string": "a", "new_string": "b"}]
    card = ask(call(1, "edit", path="a.py", edits=edits), display=DiffDisplay("a.py", PATCH, 1, 1))
    assert button(card, "editCall") is None


def test_without_a_rule_there_is_no_menu(ask):
    assert button(ask(rules=()), "allowAlways") is None


def test_the_command_can_be_changed_before_it_runs(view, ask, qtbot, clock):
    card = ask(call(1, command="pytest -q", timeout_s=5), command="pytest -q")
    clock.advance(1)
    qtbot.mouseClick(button(card, "editCall"), LEFT)
    field = card.findChild(QPlainTextEdit, "editField")
    assert field.toPlainText() == "pytest -q"
    field.setPlainText("pytest -q -x")
    with qtbot.waitSignal(view.decided) as hit:
        qtbot.mouseClick(button(card, "allowEdited"), LEFT)
    assert hit.args == ["rq_1", Edited({"command": "pytest -q -x", "timeout_s": 5})]


def test_an_edit_without_a_change_is_allowed_as_it_was(view, ask, qtbot, clock):
    card = ask(command="pytest -q")
    clock.advance(1)
    qtbot.mouseClick(button(card, "editCall"), LEFT)
    with qtbot.waitSignal(view.decided) as hit:
        qtbot.mouseClick(button(card, "allowEdited"), LEFT)
    assert hit.args[1] == AllowOnce()


@pytest.mark.parametrize("text", ["Bonjour\u00a0!\nQui\u00a0?\n", "one\r\ntwo\r\n", "a\u2028b\n"])
def test_an_edit_changes_only_what_was_typed(view, ask, qtbot, clock, text):
    written = call(1, "write", path="a.txt", content=text)
    card = ask(written, display=DiffDisplay("a.txt", PATCH, 1, 1))
    clock.advance(1)
    qtbot.mouseClick(button(card, "editCall"), LEFT)
    qtbot.keyClicks(card.findChild(QPlainTextEdit, "editField"), "Z")
    with qtbot.waitSignal(view.decided) as hit:
        qtbot.mouseClick(button(card, "allowEdited"), LEFT)
    assert hit.args[1] == Edited({"path": "a.txt", "content": f"Z{text}"})


@pytest.mark.parametrize("text", ["Bonjour\u00a0!\n", "one\r\ntwo\r\n", "one\r\ntwo\n"])
def test_an_edit_in_which_nothing_was_typed_changes_nothing(view, ask, qtbot, clock, text):
    written = call(1, "write", path="a.txt", content=text)
    card = ask(written, display=DiffDisplay("a.txt", PATCH, 1, 1))
    clock.advance(1)
    qtbot.mouseClick(button(card, "editCall"), LEFT)
    with qtbot.waitSignal(view.decided) as hit:
        qtbot.mouseClick(button(card, "allowEdited"), LEFT)
    assert hit.args[1] == AllowOnce()


def test_the_form_fits_into_the_card(view, ask, qtbot, clock):
    card = ask()
    clock.advance(1)
    qtbot.mouseClick(button(card, "editCall"), LEFT)
    field = card.findChild(QPlainTextEdit, "editField")
    assert field.mapTo(card, field.rect().bottomLeft()).y() < card.height()
    assert card.height() == card.height_for(card.width())


def test_the_editor_opens_in_sight_down_to_its_buttons(view, ask, qtbot, clock):
    text = "\n".join(f"line {number}" for number in range(60))
    card = ask(
        call(1, "write", path="a.md", content=text), display=DiffDisplay("a.md", PATCH, 1, 1)
    )
    view.resize(800, 440)
    view.apply([says(2, "More to read.\n\n" * 30)])
    assert view.focus_oldest_approval()
    QApplication.processEvents()
    clock.advance(1)
    qtbot.mouseClick(button(card, "editCall"), LEFT)
    for _ in range(3):
        QApplication.processEvents()
    allow = button(card, "allowEdited")
    foot = allow.mapTo(view, allow.rect().bottomLeft()).y()
    assert foot < view.height()
    pill = view.findChild(QPushButton, "jumpToLatest")
    assert pill.isHidden() or foot < pill.y()


@pytest.mark.parametrize("width", [300, 340, 400, 800])
def test_the_buttons_of_a_narrow_card_stand_apart(view, ask, qtbot, width):
    view.resize(width, 700)
    card = ask(rules=(Rule("shell", "pytest"),))
    card.set_alike(3)
    wait_until_written(qtbot, view)
    for _ in range(3):
        QApplication.processEvents()
    names = ("allowOnce", "allowAlways", "editCall", "allowAll", "refuse")
    boxes = [button(card, name).geometry() for name in names]
    strip = button(card, "refuse").parentWidget()
    for place, box in enumerate(boxes):
        assert box.width() >= button(card, names[place]).minimumSizeHint().width()
        assert strip.rect().contains(box)
        assert not any(box.intersects(other) for other in boxes[place + 1 :])
    if width == 800:
        assert boxes[-1].right() == strip.rect().right()


def test_what_was_typed_survives_scrolling_away(view, ask, qtbot, clock):
    card = ask()
    clock.advance(1)
    qtbot.mouseClick(button(card, "refuse"), LEFT)
    card.findChild(QLineEdit, "refuseReason").setText("wait")
    view.apply([says(number, "text\n\n" * 20) for number in range(2, 40)])
    view.findChild(QPushButton, "jumpToLatest").click()
    assert view.focus_oldest_approval()
    shown = view.cards.cards["rq_1"]
    assert shown.findChild(QLineEdit, "refuseReason").text() == "wait"


def test_the_card_folds_to_one_line_when_it_is_settled(view, ask, qtbot):
    ask()
    with qtbot.waitSignal(view.waiting_changed) as hit:
        view.apply([ApprovalResolved(AGENT, "rq_1", AllowOnce())])
    assert hit.args == [0]
    card = view.cards.cards["rq_1"]
    assert isinstance(card, LineCard)
    assert card.accessibleName().startswith("Allowed once")
    assert card.height() < 40


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Deny("use uv"), "Refused: “use uv”"),
        (Deny(), "Refused"),
        (
            Deny("use uv", rule=Rule("shell", "pip", "everywhere", is_deny=True)),
            "Refused everywhere: commands that start with “pip” (“use uv”)",
        ),
        (Deny(by="withdrawn"), "Not decided: it was stopped"),
        (Deny(by="rule"), "Refused by a rule"),
        (Deny(by="unattended"), "Refused: nobody was there to ask"),
        (Edited({"command": "x"}), "Changed by you, then allowed"),
        (
            AllowAlways(Rule("shell", "git log", "everywhere")),
            "Allowed everywhere: commands that start with “git log”",
        ),
    ],
)
def test_a_settled_card_says_what_was_decided(view, ask, decision, said):
    ask()
    view.apply([ApprovalResolved(AGENT, "rq_1", decision)])
    assert view.cards.cards["rq_1"].accessibleName() == said


def test_the_time_of_the_permission_is_told(view, ask):
    one = call(1, command="pytest -q")
    ask(one)
    view.apply([ApprovalResolved(AGENT, "rq_1", AllowOnce()), runs(one, at=1_700_000_000.0)])
    assert ":" in view.cards.cards["rq_1"].accessibleName()


def test_it_says_who_asks_when_there_are_several_and_how_long(view, ask, clock):
    agents = (AgentInfo(AGENT, "se_1", "Main", "running"), AgentInfo("ag_2", "se_1", "Research"))
    clock.now = 912.5
    card = ask(agents=agents)
    tick(view)
    assert "Main  ·  0:12" in words(card)


def test_a_screen_reader_gets_the_question_and_the_exact_effect(ask):
    card = ask(command="pytest -q")
    assert card.accessibleName() == "Approval needed. Run a command? pytest -q"
    assert "Enter" in card.accessibleDescription()


def test_the_oldest_of_several_is_focused_first(view, clock):
    one, two = call(1), call(2)
    events = [says(1, "", one, two), needs(one, 1), *[says(n, "t\n\n" * 9) for n in range(2, 30)]]
    open_page(view, opened(begins(), *events, needs(two, 2), status="running"))
    assert view.waiting_count() == 2
    assert view.focus_oldest_approval()
    card = view.cards.cards["rq_1"]
    assert card.hasFocus()
    assert view.rect().intersects(card.geometry())


def several(view, *tools, **more):
    calls = [call(number, tool) for number, tool in enumerate(tools)]
    asked = [needs(one, number, **more) for number, one in enumerate(calls)]
    open_page(view, opened(begins(), says(1, "I will.", *calls), *asked, status="running"))
    return [view.cards.cards[f"rq_{number}"] for number in range(len(tools))]


def test_several_of_one_kind_are_allowed_with_one_click(view, qtbot, clock):
    cards = several(view, "shell", "shell", "write", "shell")
    clock.now += 1
    named = [button(card, "allowAll") for card in cards]
    assert [one.isVisible() for one in named] == [True, True, False, True]
    assert named[0].accessibleName() == "Allow all 3"
    decided = []
    view.decided.connect(lambda request, decision: decided.append((request, decision)))
    qtbot.mouseClick(named[3], LEFT)
    assert decided == [(f"rq_{number}", AllowOnce()) for number in (0, 1, 3)]
    view.apply(
        [ApprovalResolved(AGENT, "rq_0", AllowOnce()), ApprovalResolved(AGENT, "rq_1", AllowOnce())]
    )
    assert not button(view.cards.cards["rq_3"], "allowAll").isVisible()


def test_what_no_rule_may_cover_is_never_allowed_in_one_go(view):
    cards = several(view, "write", "write", rules=())
    assert not any(button(card, "allowAll").isVisible() for card in cards)


def test_two_requests_for_the_same_file_are_two_decisions(view, qtbot, clock):
    display = DiffDisplay("a.py", PATCH, 1, 1)
    cards = several(view, "edit", "edit", display=display)
    clock.now += 1
    with qtbot.waitSignal(view.decided) as hit:
        qtbot.mouseClick(button(cards[0], "allowOnce"), LEFT)
    assert hit.args == ["rq_0", AllowOnce()]
    assert cards[1].isEnabled()


def test_the_end_of_a_long_rule_which_says_where_it_holds_is_on_screen(view, ask, qtbot, clock):
    long = "pytest " + " ".join(f"tests/part_{n}" for n in range(60))
    card = ask(refusals=(Rule("shell", long, is_deny=True),))
    clock.advance(1)
    qtbot.mouseClick(button(card, "refuse"), LEFT)
    menu = card.findChild(RefuseForm).rule_menu()
    assert menu.sizeHint().width() <= view.screen().availableGeometry().width()
    for action, scope in zip(menu.actions(), ("session", "folder", "everywhere"), strict=True):
        assert action.text().startswith("Always refuse commands that start with “pytest")
        assert action.text().endswith(scope)
        assert long in action.toolTip(), "the whole of it is nowhere to be read"


def test_large_words_of_a_rule_leave_its_pattern_and_its_end_on_screen(
    view, ask, theme, qtbot, clock
):
    rules = [Rule(tool, "docker ps", is_deny=True) for tool in ("shell_outside", "write", "shell")]
    card = ask(refusals=tuple(rules))
    clock.advance(1)
    qtbot.mouseClick(button(card, "refuse"), LEFT)
    theme.configure("light", 200)
    try:
        menu = card.findChild(RefuseForm).rule_menu()
        room = view.screen().availableGeometry().width()
        assert menu.sizeHint().width() <= room, (menu.sizeHint().width(), room)
        texts = [action.text() for action in menu.actions() if not action.isSeparator()]
        scopes = ("for this session", "in this folder", "everywhere") * len(rules)
        for text, scope in zip(texts, scopes, strict=True):
            assert text.startswith("Always refuse")
            assert text.endswith(f"er ps”, {scope}")
    finally:
        theme.configure("light", 100)


def test_the_cards_of_calls_that_wait_stay_while_one_after_the_other_is_decided(view):
    calls = [call(number, "write", path=f"{number}.txt") for number in range(1, 9)]
    open_page(view, opened(begins(), says(1, "", *calls), status="running"))
    view.apply([needs(calls[0])])
    kept = {key: view.cards.cards[key] for key in ("call_3", "call_8")}
    for event in (
        ApprovalResolved(AGENT, "rq_1", AllowOnce()),
        gives(calls[0]),
        needs(calls[1], 2),
    ):
        view.apply([event])
    assert {key: view.cards.cards.get(key) for key in kept} == kept
