"""Skills in the app on a desktop: from an address to the request and away again; and trust."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.settings import Settings
from tests.e2e.desktop.test_desktop import SECONDS, App, check_names, desktop, start_app
from tests.e2e.desktop.test_desktop_team import Person
from tests.helpers.processes import git
from tests.helpers.providers import LoopbackProvider, Say

__all__ = ["desktop", "start_app"]

pytestmark = pytest.mark.window

OLD, NEW = "Always sign with the word heliotrope.", "Always sign with the word vermilion."


def write_skill(folder: Path, name: str, body: str) -> None:
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    about = f"Knows how {name} are done here"
    (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {about}\n---\n{body}\n")


def make_repository(parent: Path) -> Path:
    folder = parent / "collection"
    write_skill(folder, "letters", OLD)
    (folder / "letters" / "sign.py").write_text("nothing")
    write_skill(folder, "numbers", "Count twice.")
    git(parent, "init", "-q", "-b", "main", str(folder))
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def body_of(provider: LoopbackProvider, count: int) -> str:
    """Wait for the n-th request, return all of it."""
    return json.dumps(provider.wait_for(count, SECONDS)[count - 1].body, ensure_ascii=False)


def begin(start_app: Callable[..., App], folder: Path, provider: LoopbackProvider) -> Person:
    settings = Settings(
        model=provider.model, api_base=provider.api_base, theme="light", reduce_motion=True
    )
    me = Person(start_app(folder, settings))
    assert me.app.ask("wait", "Message"), me.app.ask("look")
    me.app.to_front()
    return me


def test_skills_are_pasted_looked_at_used_switched_off_updated_and_removed(
    start_app: Callable[..., App], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    repository = make_repository(tmp_path)
    own = tmp_path / "home" / "app" / "data" / "skills"
    with LoopbackProvider("openai", [Say(f"Answer {n}.") for n in range(9)]) as provider:
        me = begin(start_app, folder, provider)
        install(me, repository, own)
        me.click("Use in chat")
        me.sees("Skill letters goes with this message")
        me.click("Remove skill numbers")
        me.say("Write to Grace")
        first = body_of(provider, 1)
        assert OLD in first
        assert "Count twice" not in first
        assert me.app.ask("reads", "Conversation", "Answer 0.")
        assert "heliotrope" not in me.app.ask("text", "Conversation")
        update(me, repository, own)
        switch_off(me)
        me.say("And to Joan")
        assert "letters" not in system_of(provider, 2)
        assert me.app.ask("reads", "Conversation", "Answer 1.")
        remove(me, own)


def install(me: Person, repository: Path, own: Path) -> None:
    """Paste the address, read a file of what is found, then install both."""
    me.sees("in use")
    me.click("Add skill…")
    me.sees("Address or path")
    me.click("Address or path")
    me.app.type(str(repository))
    me.app.keys("Return")
    me.sees("letters", "Knows how letters are done here", "has scripts")
    me.click("letters, Knows…")
    assert me.app.ask("reads", "The file's text", OLD)
    me.click("sign.py, 7 bytes")
    assert me.app.ask("reads", "The file's text", "nothing")
    assert not own.exists() or not any(own.iterdir())
    check_names(me.app)
    me.click("Install 2 skills")
    me.sees("2 skills added: letters, numbers.")
    assert (own / "letters" / "SKILL.md").read_text().strip().endswith(OLD)


def open_letters(me: Person) -> None:
    """Open the page by its keys, and choose a row by a click."""
    me.app.keys("ctrl+shift+k")
    me.sees("letters, Knows how letters are done here, mine")
    me.click("letters, Knows…")
    me.sees("Skill letters")


def update(me: Person, repository: Path, own: Path) -> None:
    """A new commit: its changes are seen before they are taken."""
    write_skill(repository, "letters", NEW)
    git(repository, "commit", "-q", "-a", "-m", "two")
    open_letters(me)
    check_names(me.app)
    me.click("Update…")
    me.sees("Changes to SKILL.md")
    me.sees("1 file changes.")
    assert OLD in (own / "letters" / "SKILL.md").read_text()
    me.click("Update")
    assert me.app.ask("gone", "What changes")
    me.sees("letters was updated.")
    assert NEW in (own / "letters" / "SKILL.md").read_text()


def switch_off(me: Person) -> None:
    """By the key alone, on the row that is chosen."""
    me.click("letters, Knows…")
    me.app.keys("space")
    me.sees("Switch on only in this folder")
    me.app.keys("Escape")
    me.sees("Message")


def system_of(provider: LoopbackProvider, count: int) -> str:
    return provider.wait_for(count, SECONDS)[count - 1].system


def remove(me: Person, own: Path) -> None:
    open_letters(me)
    me.click("Remove…")
    me.sees("Remove letters?")
    me.click("Remove")
    me.sees("letters was removed.")
    assert not (own / "letters").exists()
    assert (own / "numbers").exists()


def test_nothing_a_folder_brings_reaches_a_request_before_it_is_trusted(
    start_app: Callable[..., App], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    write_skill(folder / ".agents" / "skills", "letters", OLD)
    (folder / "AGENTS.md").write_text("Speak of marmalade.\n")
    with LoopbackProvider("openai", [Say(f"Answer {n}.") for n in range(9)]) as provider:
        me = begin(start_app, folder, provider)
        me.sees("This folder brings 1 skill and AGENTS.md. The agent follows them if you trust it.")
        me.say("Hello")
        first = body_of(provider, 1)
        for part in ("letters", "heliotrope", "marmalade"):
            assert part not in first
        assert me.app.ask("reads", "Conversation", "Answer 0.")
        me.click("Review…")
        me.sees("Instructions for every session here")
        me.click("letters, Knows…")
        assert me.app.ask("reads", "The file's text", OLD)
        check_names(me.app)
        me.click("Decide later")
        assert me.app.ask("gone", "What would be read")
        me.say("Hello again")
        assert "marmalade" not in body_of(provider, 2)
        assert me.app.ask("reads", "Conversation", "Answer 1.")
        me.click("Trust")
        me.sees("letters, this folder, in use")
        me.say("And now")
        third = body_of(provider, 3)
        for part in ("Knows how letters are done here", "marmalade"):
            assert part in third
