"""Which files deny rules keep from commands, and how much is looked at to find them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from desktop_agent.core.approvals import Rule
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.tool import Preview, Tool, ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.permissions import file_rules
from desktop_agent.engine.permissions.file_rules import (
    is_unreadable,
    refuses,
    unreadable,
    unwritable,
)
from desktop_agent.engine.permissions.policy import Asked, Refused, Situation, verdict
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.files.writing import edit, write


def denied(*patterns: str, tool: str = "write") -> list[Rule]:
    return [Rule(tool, pattern, "everywhere", is_deny=True) for pattern in patterns]


def bound(root: Path, rules: list[Rule]) -> Boundary:
    return Boundary(SessionId("se_1"), Workspace(str(root)), refusals=tuple(rules))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("prod/deep/a.yml", "prod/b.txt", "src/prod/c.yml", "src/d.py", "e.yml"):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return (tmp_path / "work").resolve()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("prod/*", {"prod"}),
        ("prod/deep/*", {"prod/deep"}),
        ("Prod/*", {"prod"}),
        ("*.yml", {"prod/deep/a.yml", "src/prod/c.yml", "e.yml"}),
        ("*/prod/*", {"src/prod"}),
        ("src/d.py", {"src/d.py"}),
        ("prod", {"prod"}),
        ("prod/", {"prod"}),
        ("~/work/prod", {"prod"}),
        ("**/e.yml", {"e.yml"}),
        ("src/**/*.yml", {"src/prod/c.yml"}),
        ("**/prod", {"prod", "src/prod"}),
        ("*", {"."}),
        ("", set[str]()),
        ("gone/*", set[str]()),
    ],
)
def test_a_pattern_means_files_and_whole_folders(
    root: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, found: set[str]
) -> None:
    monkeypatch.setenv("HOME", str(root.parent))
    wanted = {str(root / name) for name in found}
    assert set(unwritable(bound(root, denied(pattern)))) == wanted
    hiding = bound(root, denied(pattern, tool="read"))
    assert set(unreadable(hiding)) == wanted
    assert unreadable(bound(root, denied(pattern))) == ()
    for path in filter(Path.is_file, root.rglob("*")):
        is_below = any(path.is_relative_to(each) for each in wanted)
        assert is_unreadable(hiding, str(path)) == is_below


def test_only_folders_that_a_pattern_may_mean_are_looked_through(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a rule about one folder would stop all commands in a large one."""
    for number in range(50):
        (root / "src" / f"{number}.py").touch()
    monkeypatch.setattr(file_rules, "_MOST_ENTRIES", 20)
    found = unwritable(bound(root, denied("prod/deep/*.yml")))
    assert found == (str(root / "prod/deep/a.yml"),)
    with pytest.raises(ToolError, match="too many files"):
        unwritable(bound(root, denied("*.yml")))


def test_a_deny_rule_means_the_file_behind_a_link(root: Path, tmp_path: Path) -> None:
    (root / "way").symlink_to("prod")
    (root / "out").symlink_to(tmp_path)
    (root / "one.txt").symlink_to("prod/b.txt")
    for pattern in ("way/*", "one.txt", "prod/b.txt"):
        assert refuses(pattern, (str(root / "prod" / "b.txt"),), str(root))
        assert not refuses(pattern, (str(root / "src" / "d.py"),), str(root))
    assert refuses("out/*", (str(tmp_path / "x"),), str(root))


@pytest.mark.parametrize("ruled", ["write", "edit"])
@pytest.mark.parametrize("used", [write, edit])
def test_a_file_that_one_tool_may_not_change_no_other_tool_may(
    root: Path, ruled: str, used: Tool
) -> None:
    rules = denied("prod/*", tool=ruled)
    situation = Situation("free", rules, Workspace(str(root)))
    preview = Preview(used.name, paths=(str(root / "prod" / "b.txt"),))
    refused = verdict(used, preview, situation)
    assert isinstance(refused, Refused)
    assert list(refused.rules) == rules
    assert not isinstance(verdict(read, preview, situation), Refused)
    elsewhere = Preview(used.name, paths=(str(root / "src" / "d.py"),))
    assert not isinstance(verdict(used, elsewhere, situation), Refused)


def test_an_allow_rule_is_for_its_own_tool_alone(root: Path) -> None:
    rules = [Rule("write", "src/*", "everywhere")]
    situation = Situation("ask", rules, Workspace(str(root)))
    preview = Preview("edit", paths=(str(root / "src" / "d.py"),))
    assert isinstance(verdict(edit, preview, situation), Asked)


@pytest.mark.skipif(os.name != "nt", reason="has one separator")
@pytest.mark.parametrize("pattern", [r"secrets\*", "secrets/*", "~/private/*", "~/private"])
def test_a_refusing_rule_is_typed_with_either_separator(tmp_path: Path, pattern: str) -> None:
    place = Path.home() / "private" if pattern.startswith("~") else tmp_path / "secrets"
    assert refuses(pattern, (str(place / "A"),), str(tmp_path))
