"""`run` with nobody there: what the person did not give stays where it is, on real servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent import paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.core.events import AgentEnded, ApprovalRequested, ApprovalResolved
from desktop_agent.core.settings import ListedModel, Settings
from tests.helpers.providers import Calls, LoopbackProvider, Received, Say
from tests.test_headless import run_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def elsewhere() -> Iterator[LoopbackProvider]:
    """A server that the agent may not use; it writes down who calls."""
    with LoopbackProvider("openai", otherwise=Say("Thank you."), name="other") as server:
        yield server


def spawning(**arguments: str) -> LoopbackProvider:
    """Return the person's own provider: the main agent starts one subagent, then ends."""

    def answer(request: Received) -> Say | Calls:
        if request.results:
            return Say("Over.")
        given = {"description": "aside", "prompt": "All I have read: hunter2", **arguments}
        return Calls(("spawn", given))

    return LoopbackProvider("openai", otherwise=answer)


@pytest.mark.parametrize("mode", ["look", "ask", "free"])
def test_an_address_in_a_models_name_hears_nothing(
    folder: Path, elsewhere: LoopbackProvider, mode: str
) -> None:
    model = f"oobabooga/http://127.0.0.1:{elsewhere.port}"
    with spawning(model=model) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base, "--mode", mode)
        code, lines, _ = run_lines("Go", "--workspace", folder, *options)
    assert code == 0
    asked = next(line for line in lines if isinstance(line, ApprovalRequested)).request
    assert f"http://127.0.0.1:{elsewhere.port}" in asked.stakes
    assert any(isinstance(line, ApprovalResolved) for line in lines)
    assert elsewhere.requests == ()


def test_a_roles_model_is_asked_for_like_any_other(
    folder: Path, elsewhere: LoopbackProvider
) -> None:
    roles = paths.config_dir() / "agents"
    roles.mkdir(parents=True)
    head = f"---\nname: scout\nmodel: oobabooga/http://127.0.0.1:{elsewhere.port}\n---\nLook.\n"
    (roles / "scout.md").write_text(head)
    with spawning(agent="scout") as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base, "--mode", "free")
        _, lines, _ = run_lines("Go", "--workspace", folder, *options)
    assert any(isinstance(line, ApprovalRequested) for line in lines)
    assert elsewhere.requests == ()


def test_a_model_that_the_person_listed_is_used_with_nobody_there(
    folder: Path, elsewhere: LoopbackProvider
) -> None:
    listed = ListedModel(elsewhere.model, elsewhere.api_base)
    settings_file.save(paths.config_dir() / "settings.json", Settings(subagent_models=(listed,)))
    with spawning(model=elsewhere.model) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base)
        _, lines, _ = run_lines("Go", "--workspace", folder, *options)
    assert [e.text for e in lines if isinstance(e, AgentEnded)] == ["Thank you."]
    assert not any(isinstance(line, ApprovalRequested) for line in lines)
    assert len(elsewhere.requests) == 1


@pytest.mark.parametrize("name", ["config/trust.json", "config/settings.json", "data/x.db"])
def test_the_apps_own_files_are_not_written_in_any_mode(name: str) -> None:
    home = paths.config_dir().parent

    def answer(request: Received) -> Say | Calls:
        if request.results:
            return Say("Over.")
        return Calls(("write", {"path": name, "content": "{}"}))

    with LoopbackProvider("openai", otherwise=answer) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base, "--mode", "free")
        _, lines, _ = run_lines("Go", "--workspace", home, *options)
    asked = next(line for line in lines if isinstance(line, ApprovalRequested)).request
    assert "asked about in every mode" in asked.reason
    assert not (home / name).exists()
