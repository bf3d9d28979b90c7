"""Which files deny rules keep from commands, and how much is looked at to find them."""

from __future__ import annotations

from pathlib import Path

import pytest

from desktop_agent.core.approvals import Rule
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.permissions import file_rules
from desktop_agent.engine.permissions.file_rules import refuses, unreadable, unwritable
from desktop_agent.engine.workspace.containment import make_workspace


def denied(*patterns: str, tool: str = "write") -> list[Rule]:
    return [Rule(tool, pattern, "everywhere", is_deny=True) for pattern in patterns]


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
        ("*", {"."}),
        ("", set[str]()),
        ("gone/*", set[str]()),
    ],
)
def test_a_pattern_means_files_and_whole_folders(root: Path, pattern: str, found: set[str]) -> None:
    workspace = make_workspace(root)
    wanted = {str(root / name) for name in found}
    assert set(unwritable(denied(pattern), workspace)) == wanted
    assert set(unreadable(denied(pattern, tool="read"), workspace)) == wanted
    assert unreadable(denied(pattern), workspace) == ()


def test_only_folders_that_a_pattern_may_mean_are_looked_through(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a rule about one folder would stop all commands in a large one."""
    for number in range(50):
        (root / "src" / f"{number}.py").touch()
    monkeypatch.setattr(file_rules, "_MOST_ENTRIES", 20)
    workspace = make_workspace(root)
    assert unwritable(denied("prod/deep/*.yml"), workspace) == (str(root / "prod/deep/a.yml"),)
    with pytest.raises(ToolError, match="too many files"):
        unwritable(denied("*.yml"), workspace)


def test_a_deny_rule_means_the_file_behind_a_link(root: Path, tmp_path: Path) -> None:
    (root / "way").symlink_to("prod")
    (root / "out").symlink_to(tmp_path)
    (root / "one.txt").symlink_to("prod/b.txt")
    for pattern in ("way/*", "one.txt", "prod/b.txt"):
        assert refuses(pattern, (str(root / "prod" / "b.txt"),), str(root))
        assert not refuses(pattern, (str(root / "src" / "d.py"),), str(root))
    assert refuses("out/*", (str(tmp_path / "x"),), str(root))
