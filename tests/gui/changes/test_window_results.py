"""What a subagent did on another machine, in the whole window: reviewed, applied, undone."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPushButton

from desktop_agent.core.events import EngineFailed, FilesChanged
from desktop_agent.core.network.places import Place
from tests.gui.agents.test_window_agents import agents_of
from tests.gui.changes.test_window import texts, wait_part, wait_said
from tests.gui.window.test_window import WAIT, wait_idle, wait_shown, write
from tests.helpers.providers import Calls, LoopbackProvider, Say
from tests.helpers.windows import part, side_panel, words_in
from tests.outpost.rig import far

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no outposts on Windows")


@pytest.fixture
def window(open_window, project, monkeypatch, team, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-loopback")
    (project / "beds.txt").write_text("one\ntwo\nthree\nfour\nfive\n", encoding="utf-8")
    (project / "mine.txt").write_text("mine\n", encoding="utf-8")
    box = Place("box", "command", far(tmp_path / "there"))
    with LoopbackProvider("openai", [team.answer] * 60) as provider:
        yield open_window(
            project, model=provider.model, api_base=provider.api_base, mode="free", places=(box,)
        )


def sends(name):
    """Return a step that starts a subagent on the other machine, and waits for it."""
    given = {"description": name, "prompt": f"{name} work", "place": "box"}
    return Calls(("spawn", given))


def click(qtbot, button):
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def work(qtbot, window, team, heard, **scripts):
    """Have subagents work there, one after the other, to their ends."""
    starts = [step for name in scripts for step in (sends(name), Calls(("wait", {})))]
    team.scripts["main"] = [*starts, Say("All done.")]
    team.scripts |= {name: [*steps, Say(f"{name} is done")] for name, steps in scripts.items()}
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "All done.")
    wait_idle(qtbot, window)
    assert not [event for event in heard if isinstance(event, EngineFailed)]


def edits(old, new):
    return [
        Calls(("read", {"path": "beds.txt"})),
        Calls(("edit", {"path": "beds.txt", "old_string": old, "new_string": new})),
    ]


def marks(page):
    return [one.mark for one in page.list.model().rows() if not one.path]


def test_it_is_told_reviewed_applied_and_undone_and_nothing_is_changed_before(
    window, team, heard, project, qtbot
):
    before = texts(project)
    writes = Calls(("write", {"path": "far.txt", "content": "far\n"}))
    work(qtbot, window, team, heard, alpha=[*edits("two", "TWO"), writes])
    wait_said(qtbot, window, "alpha has changed files in its copy")
    assert texts(project) == before
    assert not [event for event in heard if isinstance(event, FilesChanged)]
    count = window.frame.header.changes_button
    assert count.accessibleName() == "Changes: 0 files, 1 result to review"

    # From the notice to what it did, file by file.
    click(qtbot, part(window, "noticeAction"))
    page = wait_part(qtbot, window, "changesPage")
    qtbot.waitUntil(lambda: marks(page) == ["fits"], timeout=WAIT)
    rows = page.list.model().rows()
    assert [(one.title, one.kind) for one in rows[1:]] == [
        ("beds.txt", "changed"), ("far.txt", "created"),
    ]  # fmt: skip
    page.list.setCurrentIndex(page.list.model().index_of(rows[1].key))
    diff = wait_part(qtbot, window, "changeDiff")
    qtbot.waitUntil(lambda: "added: TWO" in part(window, "changeDiff").accessibleDescription())
    assert "removed: two" in diff.accessibleDescription()
    assert texts(project) == before

    # Applied, once it was agreed to.
    click(qtbot, wait_part(qtbot, window, "applyResult"))
    dialog = wait_part(qtbot, window, "undoDialog")
    assert "Apply what alpha changed?" in words_in(dialog)
    assert texts(project) == before
    click(qtbot, dialog.findChild(QPushButton, "takeUndo"))
    wait_said(qtbot, window, "2 files changed.")
    applied = before | {"beds.txt": "one\nTWO\nthree\nfour\nfive\n", "far.txt": "far\n"}
    assert texts(project) == applied
    qtbot.waitUntil(lambda: marks(page) == ["applied"], timeout=WAIT)

    # And back: as any change of a subagent's.
    click(qtbot, part(window, "noticeAction"))
    qtbot.waitUntil(lambda: texts(project) == before, timeout=WAIT)
    qtbot.waitUntil(lambda: marks(page) == ["fits"], timeout=WAIT)


def test_what_overlaps_is_said_with_whom_and_the_rest_is_applied_at_once(
    window, team, heard, project, qtbot
):
    alpha = edits("two", "TWO")
    writes = [Calls(("write", {"path": "far.txt", "content": "far\n"}))]
    work(qtbot, window, team, heard, alpha=alpha, beta=edits("two", "2"), gamma=writes)
    panel = side_panel(window).agents
    beta = agents_of(window)["beta"].id
    panel.select(beta)
    review = panel.strip.findChild(QAbstractButton, "steer-review")
    qtbot.waitUntil(review.isVisible, timeout=WAIT)
    click(qtbot, review)
    page = wait_part(qtbot, window, "changesPage")
    qtbot.waitUntil(lambda: marks(page) == ["fits", "overlaps", "fits"], timeout=WAIT)
    assert page.list.current.agent_id == beta
    by_path = {one.key: one.mark for one in page.list.model().rows() if one.agent_id == beta}
    assert "overlaps with alpha" in by_path.values()
    fitting = part(window, "applyFitting")
    assert fitting.text().strip() == "Apply 2 that fit"
    click(qtbot, fitting)
    wait_said(qtbot, window, "2 results applied.")
    assert texts(project)["beds.txt"] == "one\nTWO\nthree\nfour\nfive\n"
    assert texts(project)["far.txt"] == "far\n"
    qtbot.waitUntil(lambda: marks(page) == ["applied", "overlaps", "applied"], timeout=WAIT)

    # What overlaps is the person's to choose; left alone it stays as it is.
    page.list.setCurrentIndex(page.list.model().index(2))
    click(qtbot, wait_part(qtbot, window, "applyResult"))
    dialog = wait_part(qtbot, window, "undoDialog")
    take = dialog.findChild(QPushButton, "takeUndo")
    assert not take.isEnabled()
    click(qtbot, dialog.findChild(QPushButton, "undoChoice_restore"))
    click(qtbot, take)
    wait_said(qtbot, window, "1 file changed.")
    assert texts(project)["beds.txt"] == "one\n2\nthree\nfour\nfive\n"
