"""A subagent has less than its parent, and nothing that was refused comes back by its folders."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.approvals import Deny, Mode, Rule
from desktop_agent.core.events import AgentSpawned, ApprovalRequested, QuestionAsked, ToolEnded
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tool import Tool
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.permissions.scope import scope_of
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.files.writing import write
from desktop_agent.tools.shell.shell import shell
from tests.engine.tree.tree_rig import WAIT, TreeRig, gate, spawns
from tests.helpers.scripted import MemoryStore, calls, says


class FilesRig(TreeRig):
    """Agents with the real `read`, `write` and `shell`; whatever is asked is refused."""

    def __init__(
        self, root: Path, child: list[Any], *rules: Rule, mode: Mode = "free", **folders: Any
    ) -> None:
        store = MemoryStore()
        store.save_rules(rules)
        main = [spawns("a", **folders), WAIT, says("ok"), says("ok")]
        super().__init__(root, main, {"a": [*child, says("done")]}, store=store, mode=mode)

    def _tools(self) -> list[Tool]:
        others = [tool for tool in super()._tools() if tool.name != "write"]
        return [*others, read, write, shell]

    def _on_event(self, event: Any) -> None:
        super()._on_event(event)
        if isinstance(event, ApprovalRequested):
            refusal = Deny(by="unattended")
            asyncio.get_running_loop().call_soon(self.engine.decide, event.request.id, refusal)

    async def told(self) -> list[str]:
        """Run to the child's end; return what its tools said."""
        self.send("go")
        child = await self.child()
        await self.ended(child)
        texts = [e.result.text for e in self.of(ToolEnded) if e.agent_id == child]
        await self.engine.close()
        return texts

    @property
    def asked(self) -> list[str]:
        """Why the person was asked."""
        return [event.request.reason for event in self.of(ApprovalRequested)]


def writes(path: str) -> Any:
    return calls(("write", {"path": path, "content": "x = 1\n"}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (".git", "prod", "src", "docs"):
        (tmp_path / "work" / name).mkdir(parents=True)
    (tmp_path / "work" / "docs" / "a.md").write_text("the docs")
    return tmp_path / "work"


@pytest.mark.parametrize("path", ["config", ".git/config", "hooks/pre-commit"])
async def test_a_child_that_is_given_git_internals_still_asks(root: Path, path: str) -> None:
    rig = FilesRig(root, [writes(path)], write=[".git"])
    await rig.told()
    assert not (root / ".git" / path.removeprefix(".git/")).exists()
    assert not (root / "config").exists()


async def test_what_the_parent_calls_a_file_its_child_calls_the_same(root: Path) -> None:
    rig = FilesRig(root, [writes("src/new.py"), writes("new.py")], write=["src"])
    inside, outside = await rig.told()
    assert (root / "src" / "new.py").read_text() == "x = 1\n"
    assert inside.startswith("Created src/new.py")
    assert "'new.py' is outside the workspace" in outside
    assert rig.of(AgentSpawned)[0].spec.workspace.root == str(root.resolve())


@pytest.mark.parametrize("scope", ["folder", "everywhere"])
async def test_a_refusing_rule_holds_for_a_child_whose_folder_is_what_it_protects(
    root: Path, scope: Any
) -> None:
    where = str(root.resolve()) if scope == "folder" else ""
    rule = Rule("write", "prod/*", scope=scope, where=where, is_deny=True)
    rig = FilesRig(root, [writes("prod/x"), writes("x")], rule, write=["prod"])
    refused, _ = await rig.told()
    assert "refused by a rule" in refused
    assert not list((root / "prod").iterdir())


@pytest.mark.parametrize("path", ["PROD/x", "way/x", "./src/../prod/x", "Prod/X", "src/x", "SRC/x"])
async def test_a_refusing_rule_is_not_talked_round_by_another_name(root: Path, path: str) -> None:
    """`way` is a link to another folder: the person refused what is called `way` there."""
    (root / "way").symlink_to("src")
    rules = (Rule("write", f"{name}/*", "everywhere", is_deny=True) for name in ("prod", "way"))
    rig = FilesRig(root, [writes(path)], *rules)
    (refused,) = await rig.told()
    assert "refused by a rule" in refused
    assert not list((root / "src").iterdir())


async def test_a_rule_that_allows_does_not_mean_another_file_to_a_child(root: Path) -> None:
    rule = Rule("write", "a.md", scope="everywhere")
    rig = FilesRig(root, [writes("docs/a.md")], rule, mode="ask", write=["docs"])
    await rig.told()
    assert (root / "docs" / "a.md").read_text() == "the docs"
    assert rig.asked == ["It changes files."]


async def test_a_command_in_a_protected_folder_is_asked_about(root: Path) -> None:
    allowed = Rule("shell", "", scope="everywhere")
    run = calls(("shell", {"command": "echo x > config", "directory": ".git"}))
    rig = FilesRig(root, [run], allowed)
    await rig.told()
    assert not (root / ".git" / "config").exists()
    assert "asked about in every mode" in rig.asked[0]


@pytest.mark.parametrize(
    "command",
    ["echo x > way/config", "cp docs/a.md way/hooks", "cp docs/a.md .g?t/config", "touch .*/x"],
)
async def test_neither_a_link_nor_a_pattern_hides_a_protected_folder(
    root: Path, command: str
) -> None:
    (root / "way").symlink_to(".git")
    rig = FilesRig(
        root, [calls(("shell", {"command": command}))], Rule("shell", "", scope="everywhere")
    )
    await rig.told()
    assert "asked about in every mode" in rig.asked[0]


@pytest.mark.parametrize(
    "command",
    ["cat AGENTS.md", "ls .github/workflows", "head -2 AGENTS.md", "cat docs/a.md | grep '.*docs'"],
)
async def test_looking_at_what_agents_or_ci_read_is_not_asked_about(
    root: Path, command: str
) -> None:
    (root / "AGENTS.md").write_text("# docs\n")
    (root / ".github" / "workflows").mkdir(parents=True)
    rig = FilesRig(root, [calls(("shell", {"command": command}))], mode="look")
    (seen,) = await rig.told()
    assert "Exit code 0" in seen
    assert not rig.asked


@pytest.mark.parametrize("command", ["cat config", "ls", "cat ../.env", "cat ../.env.local"])
async def test_looking_at_secrets_is_asked_about_from_any_folder(root: Path, command: str) -> None:
    (root / ".ssh").mkdir()
    (root / ".ssh" / "config").write_text("hunter2")
    (root / ".env").write_text("hunter2")
    looks = calls(("shell", {"command": command, "directory": ".ssh"}))
    rig = FilesRig(root, [looks], Rule("shell", "", scope="everywhere"))
    (said,) = await rig.told()
    assert "hunter2" not in said
    assert len(rig.asked) == 1


async def test_a_start_up_file_that_is_a_link_is_asked_about_by_its_own_name(root: Path) -> None:
    (root / "dots").mkdir()
    (root / "dots" / "bash").write_text("old\n")
    (root / ".bashrc").symlink_to("dots/bash")
    rig = FilesRig(root, [writes(".bashrc")])
    await rig.told()
    assert (root / "dots" / "bash").read_text() == "old\n"
    assert len(rig.asked) == 1


@pytest.mark.parametrize(
    ("folder", "path"),
    [(".config", "fish/config.fish"), (".config/autostart", "x.desktop"), (".ssh", "config"),
     (".claude", "settings.json"), ("dots/.git", "config")],
)  # fmt: skip
async def test_a_folder_that_is_opened_below_a_protected_name_stays_protected(
    tmp_path: Path, folder: str, path: str
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    rig = FilesRig(tmp_path / folder, [writes(path)])
    await rig.told()
    assert not (tmp_path / folder / path).exists()
    assert "asked about in every mode" in rig.asked[0]


async def test_a_child_that_may_only_read_a_folder_looks_there_with_commands_too(
    root: Path,
) -> None:
    look = calls(("shell", {"command": "cat a.md", "directory": "docs"}))
    up = calls(("shell", {"command": "cat ../src/x", "directory": "docs"}))
    rig = FilesRig(root, [look, calls(("read", {"path": "docs/a.md"})), up], read=["docs"])
    seen, read_too, refused = await rig.told()
    assert "the docs" in seen
    assert "the docs" in read_too
    assert "refused by the mode" in refused


async def test_a_child_is_told_where_its_paths_start_and_what_it_may_use(root: Path) -> None:
    rig = FilesRig(root, [], write=["src"], read=["docs"])
    await rig.told()
    system = rig.model.requests_of("a")[0].system
    where = root.resolve()
    assert f"{where} (only where your relative paths start" in system
    assert f"{where}/docs (read), {where}/src (read and write)" in system


# -- when the session's own folder changes -----------------------------------------------------


def _scope(session: Workspace, child: Workspace, mode: Mode = "free"):
    info = SessionInfo(SessionId("se"), AgentId("ag"), "t", session, "m", mode)
    return scope_of(info, AgentSpec(AgentId("ag"), "c", "p", 1, child, mode="free"))


def test_a_child_of_an_older_session_gets_the_sessions_root_and_no_more_folders() -> None:
    scope = _scope(Workspace("/w"), Workspace("/w/src", readable=("/w/docs",)))
    assert scope.workspace.root == "/w"
    assert scope.workspace.write_roots == ("/w/src",)
    assert set(scope.workspace.read_roots) == {"/w/src", "/w/docs"}
    assert scope.mode == "free"


def test_a_child_keeps_only_what_a_session_that_moved_still_has() -> None:
    moved = _scope(Workspace("/other"), Workspace("/w", writable=("/w/src",), has_root=False))
    assert (moved.workspace.read_roots, moved.workspace.write_roots) == ((), ())
    assert moved.mode == "look"
    smaller = _scope(Workspace("/w/src"), Workspace("/w"))
    assert smaller.workspace.write_roots == ("/w/src",)


def test_a_workspace_that_was_stored_without_the_new_field_still_opens() -> None:
    stored = b'{"root": "/w", "writable": ["/x"]}'
    assert msgspec.json.decode(stored, type=Workspace).write_roots == ("/w", "/x")


# -- A10 ---------------------------------------------------------------------------------------


async def test_of_two_answers_in_one_message_the_second_is_told_that_nobody_waits(
    tmp_path: Path,
) -> None:
    def both(_: Any) -> Any:
        child = rig.of(QuestionAsked)[0].agent_id
        answers = ({"agent_id": child, "answer": text} for text in ("euros", "dollars"))
        return calls(*(("answer_child", arguments) for arguments in answers))

    asks = calls(("ask_parent", {"question": "Which currency?"}))
    rig = TreeRig(tmp_path, [spawns("a"), WAIT, both, gate()], {"a": [asks, says("done")]})
    rig.send("go")
    child = await rig.child()
    await rig.ended(child)
    await rig.once(lambda: len(rig.tool_texts(rig.agent_id)) == 4)
    assert rig.tool_texts(rig.agent_id)[2:] == [
        f"Answered {child}.",
        f"{child} is not waiting on you.",
    ]
    assert rig.model.requests_of("a")[1].messages[-1].results[0].text == "euros"
    await rig.engine.close()
