"""Tasks and subagents in the app on a desktop: by clicks, by keys and by names."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.approvals import Rule
from desktop_agent.core.settings import Settings
from tests.e2e.desktop.test_desktop import SECONDS, App, desktop, start_app
from tests.helpers.processes import pid_here
from tests.helpers.providers import Calls, LoopbackProvider, Received, Say, Step, Wait

__all__ = ["desktop", "start_app"]

pytestmark = pytest.mark.window

# Says that it runs, and runs until it is told to end.
HOLD = """#!/bin/sh
echo $$ > "$1.pid"
while [ ! -e "$1.go" ]; do sleep 0.05; done
echo "$1 was let go"
"""
ASK = Calls(("ask_parent", {"question": "Which currency?"}))
WAIT = Calls(("wait", {}))


def hold(name: str) -> Calls:
    return Calls(("shell", {"command": f"./hold {name}"}))


def spawns(*names: str) -> Calls:
    return Calls(*(("spawn", {"description": n, "prompt": n}) for n in names))


class Team:
    """Plays the main agent and, by their prompts, its subagents."""

    def __init__(self, **scripts: list[Step]) -> None:
        self.requests: dict[str, list[Received]] = {name: [] for name in scripts}
        self._scripts = scripts
        self._changed = threading.Condition()

    def answer(self, request: Received) -> Step:
        with self._changed:
            first = request.user_texts[0]
            who = next((name for name in self._scripts if first.startswith(name)), "main")
            self.requests[who].append(request)
            self._changed.notify_all()
            script = self._scripts[who]
            return script.pop(0) if script else Say("All done.")

    def asked(self, who: str, count: int) -> Received:
        """Wait for the n-th request of one of them."""
        with self._changed:
            is_met = self._changed.wait_for(lambda: len(self.requests[who]) >= count, SECONDS)
            made = {name: len(requests) for name, requests in self.requests.items()}
            assert is_met, f"{who} did not make its request {count}: {made}"
            return self.requests[who][count - 1]

    def told(self, who: str, words: str) -> None:
        """Wait until a request of one of them holds the words."""
        with self._changed:
            is_met = self._changed.wait_for(
                lambda: any(words in t for r in self.requests[who] for t in r.user_texts), SECONDS
            )
            assert is_met, f"{who} was not told: {words}"


class Person:
    """Clicks on what a name stands for, and types."""

    def __init__(self, app: App) -> None:
        self.app = app

    def sees(self, *words: str) -> str:
        name = self.app.ask("shows", *words)
        if not name:
            shown = [*filter(None, self.app.ask("names"))]
            pytest.fail(f"nothing is called {words}; there are {shown}")
        return name

    def click(self, name: str, *, times: int = 1) -> None:
        x, y = self.app.ask("place", name)
        pair = ["click", "--repeat", str(times), "--delay", "60", "1"]
        self.app.xdotool("mousemove", str(x), str(y), *pair)

    def press(self, name: str) -> None:
        if not self.app.ask("press", name):
            shown = [*filter(None, self.app.ask("names"))]
            pytest.fail(f"{name} cannot be pressed; there are {shown}")

    def push(self, name: str) -> None:
        """Press a button once: one that changes its words would be pressed back again."""
        assert self.app.ask("push", name), f"{name} cannot be pressed"

    def say(self, text: str) -> None:
        assert self.app.ask("wait", "Message"), self.app.ask("look")
        for _ in range(8):
            self.app.to_front()
            self.click("Message")
            self.app.keys("ctrl+a", "Delete")
            self.app.type(text)
            if self.app.ask("text", "Message") != text:
                continue  # the window was not yet in front
            self.app.keys("Return")
            if self.app.ask("reads_only", "Message", ""):
                return
        pytest.fail("nothing could be said")

    def names(self, part: str) -> list[str]:
        """The names of what is showing and has this in its name, from top to bottom."""
        return [name for name in self.app.ask("names") if part in name]


def make_folder(parent: Path, *rules: Rule) -> Path:
    """Make a folder with a program that holds, and the rules that allow it."""
    folder = parent / "folder"
    folder.mkdir()
    (folder / "hold").write_text(HOLD)
    (folder / "hold").chmod(0o755)
    data = parent / "home" / "app" / "data"
    data.mkdir(parents=True)
    store = SqliteStore(data / SESSIONS_FILE)
    store.save_rules(rules)
    store.close()
    return folder


ALLOWED = tuple(
    Rule("shell", f"./hold {command}", "everywhere")
    for command in ("anna1", "anna2", "carl", "carl2", "main")
)


def pid_of(folder: Path, name: str) -> int:
    return pid_here(int((folder / f"{name}.pid").read_text()), folder)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_three_subagents_are_seen_into_steered_answered_held_and_stopped(
    start_app: Callable[..., App], tmp_path: Path
) -> None:
    folder = make_folder(tmp_path, *ALLOWED)
    is_thought = threading.Event()
    team = Team(
        main=[spawns("anna", "bert", "carl"), *[WAIT] * 9],
        anna=[
            [Wait(is_thought), hold("anna1")],
            hold("anna2"),
            Say("never"),
        ],
        bert=[ASK, Say("bert is done")],
        carl=[
            hold("carl"),
            Calls(("glob", {"pattern": "*"})),
            hold("carl2"),
            Say("carl wraps up"),
        ],
    )
    with LoopbackProvider("openai", [team.answer] * 60) as provider:
        settings = Settings(model=provider.model, api_base=provider.api_base, theme="light")
        me = Person(start_app(folder, settings))
        me.say("Go")
        steer(me, team, folder, is_thought)
        answer(me, team)
        hold_and_step(me, team, folder)
        stop_with_work_kept(me, team, folder)
        stop_all(me, team, folder)
        assert me.sees("anna, stopped by you")
        assert me.names(", running") == []


def steer(me: Person, team: Team, folder: Path, is_thought: threading.Event) -> None:
    """Open one by two quick clicks; tell it something while it thinks, and in mid-command."""
    team.asked("anna", 1)
    me.sees("anna, running")
    me.click("anna, running…", times=2)
    me.sees("Go to Main")
    tell(me, "use euros")
    me.sees("use euros. Queued – reads it at the next step")
    is_thought.set()
    me.sees("anna, running", "hold anna1")
    me.sees("use euros. Waiting – reads it after", "hold anna1")
    tell(me, "and pounds")
    me.sees("and pounds. Waiting – reads it after", "hold anna1")
    (folder / "anna1.go").touch()
    told = team.asked("anna", 2).user_texts
    assert [sum(text.count(note) for text in told) for note in ("euros", "pounds")] == [1, 1]
    me.sees("use euros. Delivered at step 2")
    me.sees("and pounds. Delivered at step 2")


def tell(me: Person, text: str) -> None:
    me.click("Steer anna")
    me.app.type(text)
    me.app.keys("Return")


def answer(me: Person, team: Team) -> None:
    """Answer another's question from the one list of what waits, by pressing."""
    me.sees("Main ▸ bert asks: Which currency?")
    me.click("Answer")
    me.app.type("euros")
    me.app.keys("Return")
    assert team.asked("bert", 2).results[-1] == "euros"
    me.sees("bert, done")


def hold_and_step(me: Person, team: Team, folder: Path) -> None:
    """Pause one in the middle of its command, let it take one step, and go on."""
    me.click("carl, running…")
    me.sees("Steer carl")
    me.push("Pause")
    me.sees("carl, running, pausing…")
    (folder / "carl.go").touch()
    me.sees("carl, paused")
    assert len(team.requests["carl"]) == 1
    me.push("Step")
    team.asked("carl", 2)
    me.sees("carl, paused")
    me.push("Resume")
    team.asked("carl", 3)


def stop_with_work_kept(me: Person, team: Team, folder: Path) -> None:
    """End one with a last step: it reports, without tools, what it has."""
    me.sees("carl, running", "carl2")
    me.push("Stop, keep its work")
    me.sees("carl, running, wrapping up…")
    (folder / "carl2.go").touch()
    last = team.asked("carl", 4)
    assert "carl2 was let go" in last.results[-1]
    me.sees("carl, done")
    team.told("main", "carl wraps up")


def stop_all(me: Person, team: Team, folder: Path) -> None:
    """Stop everybody: what still runs ends with its process."""
    me.sees("anna, running", "hold anna2")
    pid = pid_of(folder, "anna2")
    assert is_alive(pid)
    me.push("Go to Main")
    me.sees("Stop Main + 1")
    me.push("Stop Main + 1")
    me.sees("anna, stopped")
    assert not is_alive(pid)
    assert len(team.requests["anna"]) == 2
