"""The task list in the app on a desktop: seen at work, and edited by mouse and by keys."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from desktop_agent import paths
from desktop_agent.core.settings import Settings
from tests.e2e.desktop.test_desktop import SECONDS, App, desktop, pytestmark, start_app
from tests.e2e.desktop.test_desktop_team import ALLOWED, Person, hold, make_folder
from tests.helpers.providers import Calls, LoopbackProvider, Say, Step

__all__ = ["desktop", "pytestmark", "start_app"]


class Editor(Person):
    """Does by mouse what a list of tasks takes."""

    def mouse(self, *words: object) -> None:
        self.app.xdotool(*map(str, words))

    def double_click(self, name: str) -> None:
        x, y = self.app.ask("place", name)
        self.mouse("mousemove", x, y, "click", "--repeat", 2, "--delay", 60, 1)

    def drag_above(self, name: str, target: str) -> None:
        """Take a row to the upper half of another, in steps, as a hand does."""
        (x, y), (_, end) = self.app.ask("place", name), self.app.ask("place", target)
        end -= 8
        self.mouse("mousemove", x, y, "mousedown", 1)
        for step in range(1, 9):
            self.mouse("mousemove", x + step % 2, y + (end - y) * step // 8)
        self.mouse("mousemove", x, end, "mouseup", 1)


def test_the_demos_tasks_appear_run_wait_go_on_and_get_done(
    start_app: Callable[..., App], tmp_path: Path
) -> None:
    folder = tmp_path / "garden"
    shutil.copytree(paths.resource("demo"), folder)
    # What passes must last until a reader of the screen, which asks now and then, has seen it.
    settings = Settings(model="demo", reduce_motion=True, theme="light")
    app = start_app(folder, settings, DESKTOP_AGENT_DEMO_PACE="slow")
    me = Person(app)
    me.say("Look around")
    assert app.ask("row", "Write OVERVIEW.md, waiting, waits for")
    assert app.ask("row", ", in progress")
    # Nothing blocks it any more; it runs until its file may be written.
    assert app.ask("row", "Write OVERVIEW.md, in progress")
    assert app.ask("row", "Read the important files, completed")
    assert not me.names(", blocked")
    me.press("Create")
    me.sees("OVERVIEW.md", "done")
    assert (folder / "OVERVIEW.md").exists()
    # Only a list of which all is completed goes by itself.
    assert me.app.ask("gone", "Write OVERVIEW.md, in progress")
    assert me.app.ask("gone", "Read the important files, completed")


def test_edits_by_mouse_and_keys_in_mid_run_reach_the_next_request_as_one_note(
    start_app: Callable[..., App], tmp_path: Path
) -> None:
    folder = make_folder(tmp_path, *ALLOWED)
    subjects = ("alpha", "beta", "gamma", "delta", "zeta")
    made = [("TaskCreate", {"subject": s}) for s in subjects]
    script: list[Step] = [Calls(*made), hold("main"), Say("All is done.")]
    with LoopbackProvider("openai", script) as provider:
        settings = Settings(model=provider.model, api_base=provider.api_base, theme="light")
        me = Editor(start_app(folder, settings))
        me.say("Plan it")
        provider.wait_for(2, SECONDS)
        me.sees("zeta, pending")
        edit(me)
        me.sees("Your edits are read")
        assert me.names(", pending") == [
            f"{name}, pending" for name in ("delta", "omega", "zeta", "gamma", "epsilon")
        ]
        (folder / "main.go").touch()
        last = provider.wait_for(3, SECONDS)[2]
        notes = [text for text in last.user_texts if "<app:task_edits" in text]
        assert len(notes) == 1
        assert [line for line in notes[0].splitlines() if line] == [
            '<app:task_edits by="user">',
            "- renamed #1 to: omega",
            "- deleted #2 (beta)",
            "- moved #4 before #1",
            "- moved #5 before #3",
            "- added #6: epsilon",
            "</app:task_edits>",
            "<app:task_list>",
            "<tasks>",
            "- #4 [pending] delta",
            "- #1 [pending] omega",
            "- #5 [pending] zeta",
            "- #3 [pending] gamma",
            "- #6 [pending] epsilon",
            "</tasks>",
            "</app:task_list>",
        ]
        me.sees("Your edits were read at step 3")


def edit(me: Editor) -> None:
    """Rename and move one by mouse; delete, move and add by keys."""
    me.double_click("alpha, pending")
    me.app.keys("ctrl+a")
    me.app.type("omega")
    me.app.keys("Return")
    me.sees("omega, pending")
    me.click("beta, pending")
    me.app.keys("Delete")
    me.sees("Deleted “beta”")
    me.drag_above("delta, pending", "omega, pending")
    assert me.app.ask("order", "delta, pending", "omega, pending")
    me.click("zeta, pending")
    me.app.keys("alt+Up")
    assert me.app.ask("order", "zeta, pending", "gamma, pending")
    me.click("Add a task")
    me.app.type("epsilon")
    me.app.keys("Return")
    me.sees("epsilon, pending")
