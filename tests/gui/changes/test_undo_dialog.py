"""What an undo would do is seen, and decided, before it is done."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPushButton, QScrollArea

from desktop_agent.core.changes import ChangeSet, PlannedFile, UndoPlan, UndoScope
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.gui.changes.undo_dialog import (
    UndoDialog,
    can_do,
    may_hold_yours,
    needs_asking,
)
from desktop_agent.gui.kit.lists.filter_list import FilterList
from desktop_agent.gui.transcript.cards.diff_view import DiffView
from tests.helpers.windows import words_in

RESTORED = tuple(PlannedFile(f"src/{n}.py", "restore") for n in range(5))
MINE = PlannedFile("mine.py", "conflict", why="It was changed since.", can_merge=True)
OTHER = PlannedFile("other.bin", "conflict", why="Another agent changed it since.")
LOST = PlannedFile("trace.bin", "lost", why="What was there was not kept.")
SAME = PlannedFile("same.py", "already")


@pytest.fixture
def ask(theme, qtbot):
    made = []

    def begin(*files, **more):
        dialog = UndoDialog(theme, plan(*files), "Undo all changes?", **more)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(dialog)
        dialog.decisions = []
        dialog.decided.connect(dialog.decisions.append)
        dialog.show()
        qtbot.waitExposed(dialog)
        dialog.activateWindow()
        qtbot.waitUntil(dialog.isActiveWindow)
        made.append(dialog)
        return dialog

    return begin


def plan(*files):
    return UndoPlan(UndoScope("se_1"), ("cs_1",), files)


def take(dialog):
    return dialog.findChild(QPushButton, "takeUndo")


def choose(dialog, number, choice):
    buttons = dialog.findChildren(QAbstractButton, f"undoChoice_{choice}")
    buttons[number].click()


def test_what_was_changed_since_is_seen_before_it_is_decided(ask, qtbot):
    dialog = ask(*RESTORED, MINE, OTHER)
    asked = []
    dialog.compare_requested.connect(asked.append)
    mine, other = dialog.findChildren(QAbstractButton, "compareUndo")
    mine.setFocus()
    qtbot.keyClick(mine, Qt.Key.Key_Return)
    assert asked == ["mine.py"]
    patch = "--- a/mine.py\n+++ b/mine.py\n@@ -1 +1 @@\n-theirs\n+mine\n"
    dialog.show_difference("mine.py", DiffDisplay("mine.py", patch, 1, 1))
    shown = dialog.findChild(DiffView, "undoDifference")
    assert shown.isVisible()
    assert "mine.py" in shown.accessibleName()
    assert not shown.visibleRegion().isEmpty()
    other.click()
    dialog.show_difference("other.bin", DiffDisplay("other.bin", "[No text.]", 0, 0))
    assert "[No text.]" in words_in(dialog)
    mine.click()
    assert not shown.isVisible()
    dialog.show_difference("mine.py", DiffDisplay("mine.py", patch, 1, 1))
    assert asked == ["mine.py", "other.bin"]
    assert not dialog.findChildren(DiffView, "undoDifference") or not shown.isVisible()


def test_the_three_groups_are_told_with_their_numbers(ask):
    dialog = ask(*RESTORED, MINE, LOST, SAME)
    said = words_in(dialog)
    for words in ("Will be restored", "Your choice", "Can’t come back"):
        assert words in said
    rows = dialog.findChild(FilterList, "undo_restore").rows()
    assert len(rows) == 5
    assert "It was changed since." in said
    assert take(dialog).accessibleName() == "Undo 5 files"
    assert "same.py" not in said


def test_the_dialog_is_as_high_as_what_it_tells_and_hides_nothing_of_it(ask):
    one, more = ask(RESTORED[0]), ask(*RESTORED, MINE, LOST)
    assert one.height() < more.height() / 2
    for dialog in (one, more):
        (area,) = dialog.findChildren(
            QScrollArea, options=Qt.FindChildOption.FindDirectChildrenOnly
        )
        assert area.verticalScrollBar().maximum() == 0


@pytest.mark.parametrize(
    ("is_redo", "said"), [(False, "gets its old name back"), (True, "gets its new name back")]
)
def test_a_renamed_file_is_one_row_with_both_names(ask, is_redo, said):
    dialog = ask(PlannedFile("old.py", "restore", "created", was="new.py"), is_redo=is_redo)
    (row,) = dialog.findChild(FilterList, "undo_restore").rows()
    assert (row.title, row.tag) == ("new.py → old.py", said)
    assert take(dialog).accessibleName().endswith(" 1 file")


def test_what_was_changed_since_is_kept_unless_the_person_says_otherwise(ask, qtbot):
    dialog = ask(*RESTORED, MINE, OTHER)
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.decisions == [{"mine.py": "keep", "other.bin": "keep"}]


def test_each_conflict_has_its_own_choice_and_the_button_counts_along(ask):
    dialog = ask(*RESTORED, MINE, OTHER)
    choose(dialog, 0, "merge")
    choose(dialog, 1, "restore")
    assert take(dialog).accessibleName() == "Undo 7 files"
    take(dialog).click()
    assert dialog.decisions == [{"mine.py": "merge", "other.bin": "restore"}]


def test_merge_is_offered_only_where_it_can_be_done(ask):
    dialog = ask(OTHER)
    assert not dialog.findChildren(QAbstractButton, "undoChoice_merge")


def test_the_choice_is_made_by_keys_and_says_which_file_it_is_about(ask, qtbot):
    dialog = ask(MINE)
    keep = dialog.findChild(QAbstractButton, "undoChoice_keep")
    keep.setFocus(Qt.FocusReason.TabFocusReason)
    assert keep.accessibleDescription() == "mine.py"
    qtbot.keyClick(keep, Qt.Key.Key_Right)
    assert dialog.choices == {"mine.py": "restore"}


def test_with_nothing_to_restore_nothing_can_be_begun(ask):
    assert not take(ask(MINE, LOST)).isEnabled()


def test_closing_it_changes_nothing(ask, qtbot):
    dialog = ask(*RESTORED)
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.decisions == []


def test_thousands_of_conflicts_are_decided_together_after_the_first(ask):
    many = [PlannedFile(f"{n}.py", "conflict", can_merge=n % 2 == 0) for n in range(5_000)]
    dialog = ask(*many)
    buttons = dialog.findChildren(QAbstractButton, "undoChoice_merge")
    assert len(buttons) < 60
    buttons[-1].click()
    chosen = dialog.choices
    assert len(chosen) == 5_000
    assert chosen["4998.py"] == "merge"
    assert chosen["4999.py"] == "keep"
    assert chosen["0.py"] == "keep"


def test_hostile_paths_are_marked_in_the_preview(ask):
    dialog = ask(
        PlannedFile("a\n\u202eb", "restore"),
        PlannedFile("c\n\u202ed", "conflict"),
        PlannedFile("e\n\u202ef", "lost", why="g\u202eh"),
    )
    said = words_in(dialog) + "".join(
        row.title + row.tag for one in dialog.findChildren(FilterList) for row in one.rows()
    )
    assert "\u202e" not in said
    assert dialog.choices == {"c\n\u202ed": "keep"}


def test_what_else_cannot_come_back_is_told(ask):
    said = words_in(ask(*RESTORED, unheld=("2 commits stay.", "a\u202eb")))
    assert "Can’t come back" in said
    assert "2 commits stay." in said
    assert "\u202e" not in said


@pytest.mark.parametrize(
    ("kind", "seconds", "set_id", "is_told"),
    [
        ("command", 60, "cs_1", True),
        ("command", 1, "cs_1", False),
        ("tool", 60, "cs_1", False),
        ("command", 60, "cs_2", False),
    ],
)
def test_what_the_person_saved_while_a_command_ran_is_spoken_of(
    ask, kind, seconds, set_id, is_told
):
    made = ChangeSet(set_id, kind, "ag_1", began=1, ended=1 + seconds)
    dialog = ask(*RESTORED, may_hold_yours=may_hold_yours(plan(*RESTORED), [made]))
    assert ("What you saved yourself" in words_in(dialog)) == is_told


def test_a_redo_says_that_it_puts_back(ask):
    dialog = ask(*RESTORED, is_redo=True)
    assert take(dialog).accessibleName() == "Redo 5 files"
    assert "Will be put back" in words_in(dialog)


def test_only_conflicts_and_losses_have_to_be_looked_at():
    assert not needs_asking(plan(*RESTORED, SAME))
    assert needs_asking(plan(MINE))
    assert needs_asking(plan(LOST))
    assert not can_do(plan(SAME))
    assert can_do(plan(LOST))
