"""What is asked about in every mode, judged by where a file really is."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest

from desktop_agent import paths
from desktop_agent.compose import _own_places  # pyright: ignore[reportPrivateUsage]
from desktop_agent.core.workspace import OwnPlaces
from desktop_agent.engine.permissions.protected_files import (
    HOME_SECRETS,
    SECRETS_ON_MACS,
    is_protected,
    is_secret,
    may_name_protected,
    private_below,
    search_exclusions,
)

WHAT_AGENTS_READ = [
    ".codex/config.toml", ".claude/settings.json", ".cursor/rules/x.mdc",
    ".agents/skills/a/SKILL.md",
    ".desktop_agent/rules.json", ".mcp.json", "AGENTS.md", "sub/CLAUDE.md", "GEMINI.md",
    ".cursorrules",
    ".github/copilot-instructions.md", ".gemini/settings.json", ".windsurf/rules/a.md",
    ".roo/mcp.json", "opencode.json", ".continue/config.yaml", ".CODEX/config.toml", "Agents.MD",
]  # fmt: skip
WHAT_RUNS_BY_ITSELF = [
    ".envrc", ".vscode/tasks.json", ".vscode/anything.json", ".husky/pre-commit", ".git/config",
    ".github/workflows/ci.yml", ".github/actions/a/action.yml", ".gitlab-ci.yml", "Jenkinsfile",
    ".circleci/config.yml", "azure-pipelines.yml", "lefthook.yml",
    ".devcontainer/devcontainer.json",
    "my.code-workspace", "mise.toml", ".gitea/workflows/a.yml", ".VSCode/tasks.json",
]  # fmt: skip
PLAIN = [
    "README.md", "src/main.py", "docs/agents.rst", ".github/ISSUE_TEMPLATE.md", ".gitignore",
    ".env.example", "config/settings.json", "trust.json", "workflows/ci.yml", "package.json",
]  # fmt: skip


@pytest.mark.parametrize("name", [*WHAT_AGENTS_READ, *WHAT_RUNS_BY_ITSELF])
def test_no_mode_lets_an_agent_change_unasked_what_runs_or_what_agents_obey(name: str) -> None:
    assert is_protected(PurePosixPath("/home/ann/project") / name)


@pytest.mark.parametrize("name", PLAIN)
def test_ordinary_files_are_not_asked_about_for_their_names(name: str) -> None:
    assert not is_protected(PurePosixPath("/home/ann/project") / name)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "moved"
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(place))
    return place.resolve()


@pytest.fixture
def own(home: Path) -> OwnPlaces:
    return _own_places(paths.data_dir(), paths.config_dir())


@pytest.mark.parametrize(
    "name",
    ["config/settings.json", "config/trust.json", "config/agents/x.md", "data/sessions.db",
     "data/skills/pdf/SKILL.md", "Config/TRUST.json"],
)  # fmt: skip
def test_the_apps_own_files_are_protected_wherever_they_were_moved(
    home: Path, own: OwnPlaces, name: str
) -> None:
    assert is_protected(home / name, own)
    assert not is_protected(home / name)


def test_the_usual_places_stay_protected_when_another_copy_runs_elsewhere(
    own: OwnPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DESKTOP_AGENT_HOME")
    usual = paths.own_folders()
    assert usual
    for folder in usual:
        assert is_protected(folder / "trust.json", own)


def test_keys_stay_secret_while_the_demo_has_another_place(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKTOP_AGENT_HOME_BEFORE", "")
    paths.move_home(tmp_path / "demo")
    own = _own_places(paths.data_dir(), paths.config_dir())
    assert is_secret(home / "config" / "keys.json", own)
    assert is_secret(tmp_path / "demo" / "config" / "keys.json", own)


@pytest.mark.parametrize("name", ["config/keys.json", "data/sessions.db-wal", "data/runs/se_1.db"])
def test_keys_and_sessions_are_not_even_read_unasked(home: Path, own: OwnPlaces, name: str) -> None:
    assert is_secret(home / name, own)


def test_what_agents_have_to_read_of_the_apps_files_is_not_asked_about(
    home: Path, own: OwnPlaces
) -> None:
    assert not is_secret(home / "data" / "skills" / "pdf" / "notes.md", own)
    assert not is_secret(home / "config" / "settings.json", own)


def test_own_places_are_found_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    own = _own_places(tmp_path / "link", tmp_path / "link")
    assert is_protected(Path(os.path.realpath(tmp_path / "link")) / "trust.json", own)


def test_a_search_from_above_knows_what_to_leave_out(home: Path, own: OwnPlaces) -> None:
    found = private_below(home, own)
    assert {"config/keys.json", "data/sessions.db"} <= set(found)
    assert private_below(home / "elsewhere", own) == ()


@pytest.mark.parametrize("name", ["\u200b", "\u200b*/.g?t", ".", "..", "*", ""])
def test_odd_names_are_judged_without_a_defect(name: str) -> None:
    assert not is_protected(PurePosixPath("/w") / name.replace(".g?t", "x"))
    assert may_name_protected(name) == (".g?t" in name)


@pytest.mark.parametrize("name", [*HOME_SECRETS, *SECRETS_ON_MACS])
def test_what_commands_never_see_of_a_home_is_asked_about_before_it_is_read(name: str) -> None:
    for path in (f"/home/me/{name}", f"/home/me/{name}/x", f"/home/me/{name.upper()}"):
        assert is_secret(path)
        assert is_protected(path)
    assert not is_secret(f"/home/me/{name}-not")
    assert any(name in pattern for pattern in search_exclusions())
