"""The list of skills is what the catalog says, in order, and finds what is searched for."""

import random

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QLabel

from desktop_agent.gui.skills.list_model import (
    SkillListModel,
    counts,
    heading_text,
    rows_of,
    shown_rows,
)
from desktop_agent.gui.skills.text import (
    content_text,
    few_names,
    in_words,
    source_text,
    state_badge,
    used_text,
)
from tests.gui.skills.samples import SKILLS, many, skill

CHECK = Qt.ItemDataRole.CheckStateRole


def names(rows):
    return [row.title or f"[{heading_text(row)}]" for row in rows]


def test_skills_stand_in_groups_under_their_headings(qapp):
    assert names(shown_rows(rows_of(SKILLS), "all", "")) == [
        "[This folder]",
        "review",
        "[Mine]",
        "invoice",
        "minutes",
        "broken",
        "[Built in]",
        "pdf",
        "[From other apps]",
        "design",
        "pdf",
    ]


def test_a_tab_shows_one_origin_without_a_heading_and_counts_are_right(qapp):
    rows = rows_of(SKILLS)
    assert names(shown_rows(rows, "mine", "")) == ["invoice", "minutes", "broken"]
    assert counts(rows) == {"all": 7, "folder": 1, "mine": 3, "bundled": 1, "other_app": 2}


def test_a_search_needs_every_word_in_name_or_description_in_any_order(qapp):
    rows = rows_of(SKILLS)
    assert names(shown_rows(rows, "all", "CHANGE mistakes")) == ["[This folder]", "review"]
    assert names(shown_rows(rows, "all", "mistakes invoice")) == []


def test_rows_that_stay_the_same_are_the_same_objects_so_nothing_is_drawn_anew(qapp):
    rows = rows_of(SKILLS)
    again = rows_of((replace(SKILLS[0], is_enabled=False), *SKILLS[1:]), rows)
    assert [a is b for a, b in zip(rows, again, strict=True)] == [False] + [True] * 6


def test_the_model_keeps_qts_rules_whatever_comes(qapp):
    chance = random.Random(7)
    model = SkillListModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    everything = list(many(60))
    rows = ()
    for _ in range(120):
        some = chance.sample(everything, chance.randrange(len(everything)))
        rows = rows_of([replace(one, is_enabled=chance.random() < 0.5) for one in some], rows)
        text = chance.choice(("", "reads", "1", "skill-3", "nothing at all"))
        wanted = shown_rows(rows, chance.choice(("all", "mine", "folder")), text)
        model.set_rows(wanted)
        assert model.rows() == wanted
    assert tester.model() is model


def test_the_box_of_a_row_says_whether_the_skill_is_on_and_only_wishes(qapp, qtbot):
    model = SkillListModel()
    model.set_rows(shown_rows(rows_of(SKILLS), "mine", ""))
    on, off, broken = (model.index(number) for number in range(3))
    assert Qt.CheckState(on.data(CHECK)) == Qt.CheckState.Checked
    assert Qt.CheckState(off.data(CHECK)) == Qt.CheckState.Unchecked
    assert broken.data(CHECK) is None
    with qtbot.waitSignal(model.switched) as requested:
        assert model.setData(off, Qt.CheckState.Checked, CHECK)
    assert requested.args == [SKILLS[2], True]
    assert Qt.CheckState(off.data(CHECK)) == Qt.CheckState.Unchecked
    assert not model.setData(broken, Qt.CheckState.Checked, CHECK)
    assert not model.setData(QModelIndex(), Qt.CheckState.Checked, CHECK)


def test_what_is_most_wrong_with_a_skill_is_said_first(qapp):
    assert state_badge(skill("a", problem="No.", warnings=("w",))) == ("can't be used", "err")
    assert state_badge(skill("a", is_changed=True, is_trusted=False))[0] == "changed"
    assert state_badge(skill("a", is_trusted=False))[0] == "not trusted"
    assert state_badge(skill("a", shadowed_by="/x", needs=("n",)))[0] == "shadowed"
    assert state_badge(skill("a", needs=("n",), warnings=("w",)))[0] == "needs setup"
    assert state_badge(skill("a", warnings=("w",)))[0] == "warning"
    assert state_badge(skill("a")) == ("", "")


def test_a_row_is_spoken_with_its_state_and_that_it_holds_scripts(qapp):
    model = SkillListModel()
    model.set_rows(shown_rows(rows_of(SKILLS), "all", ""))
    spoken = [
        model.index(number).data(Qt.ItemDataRole.AccessibleTextRole)
        for number in range(model.rowCount())
    ]
    assert "review, Looks for mistakes in a change, this folder, has scripts" in spoken
    assert "pdf, Does pdf things, built in, needs setup" in spoken
    assert spoken[0] == "This folder"


def test_words_on_contents_source_and_use_are_plain(qapp):
    assert content_text((), "") == "text only"
    assert content_text(("2 Python", "1 shell"), "Read") == (
        "has scripts: 2 Python, 1 shell · asks for tools: Read"
    )
    assert source_text(SKILLS[1]) == "https://example.com/skills @ 4f1c2a9"
    assert source_text(SKILLS[0]) == ""
    assert [used_text(n) for n in (0, 1, 4)] == ["Not used yet", "Used once", "Used 4 times"]


def test_names_are_told_in_short_and_none_turns_the_sentence_around(qapp):
    assert few_names(["a", "b", "c", "d"]) == "a, b, c, d"
    assert few_names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert in_words("pdf") == "pdf"
    label = QLabel(f"{in_words('ترجمة')} was removed.")
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.resize(600, 40)
    image = label.grab().toImage()
    ground = image.pixel(599, 39)
    drawn = {x for x in range(600) for y in range(40) if image.pixel(x, y) != ground}
    assert min(drawn) < 20, "it begins where an English sentence begins"
