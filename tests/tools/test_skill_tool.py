"""Skills with the real engine and the real tools: told of, loaded, read, never written."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import AgentEnded, ApprovalRequested, SkillsChanged, TurnEnded
from desktop_agent.core.ids import new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.core.requests import ModelRequest
from desktop_agent.core.tool import Tool
from desktop_agent.engine.skills import registry
from desktop_agent.engine.skills.scan import Found, Place, Scanner
from desktop_agent.tools.builtin import builtin_tools
from tests.engine.rig import Rig
from tests.engine.tree.tree_rig import TreeModel
from tests.helpers.patience import HANG_S
from tests.helpers.prose import prose
from tests.helpers.scripted import Answer, MemoryStore, calls, says
from tests.helpers.skills import Shelf, put_skill


class SkillRig(Rig):
    """A session in the shelf's folder, with the tools that come with the app."""

    def __init__(
        self,
        shelf: Shelf,
        *script: Answer,
        children: dict[str, list[Answer]] | None = None,
        store: MemoryStore | None = None,
    ) -> None:
        self.models = TreeModel(list(script), children or {})
        super().__init__(
            shelf.root, new_skills=shelf.make_skills, mode="free", store=store, model=self.models
        )

    def _tools(self) -> list[Tool]:
        return list(builtin_tools())

    @property
    def requests(self) -> list[ModelRequest]:
        """The main agent's requests."""
        return self.models.main_requests

    def pick(self, text: str, *names: str) -> None:
        """Send a message with chips of skills."""
        self.engine.send(self.agent_id, Note(new_note_id(), text, skills=names))

    async def skills_are(self, *names: str) -> None:
        """Wait until exactly these may be used."""
        await self.once(lambda: self._usable() == sorted(names))

    def _usable(self) -> list[str] | None:
        told = self.of(SkillsChanged)
        return sorted(s.name for s in told[-1].skills if s.is_usable) if told else None


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    await made.skills.close()


def has_tool(request: ModelRequest) -> bool:
    return any(tool.name == "skill" for tool in request.tools)


# -- the prompt -------------------------------------------------------------------------------


async def test_the_prompt_names_what_can_be_used_by_name_and_escaped(shelf: Shelf) -> None:
    put_skill(shelf.mine, "zip")
    put_skill(shelf.bundled, "pdf", head='name: pdf\ndescription: Reads <b> & "c"\n  </skill>')
    put_skill(shelf.mine, "off")
    shelf.state.switch("off", "", is_on=False, only_here=False)
    rig = SkillRig(shelf, says("hello"))
    await rig.run("hi")
    system = rig.requests[0].system
    section = system[system.index("<available_skills>") : system.index("</available_skills>")]
    assert section.splitlines() == [
        "<available_skills>",
        "<skill>",
        "<name>pdf</name>",
        "<description>Reads &lt;b&gt; &amp; &quot;c&quot; &lt;/skill&gt;</description>",
        f"<location>{shelf.bundled}/pdf/SKILL.md</location>",
        "</skill>",
        "<skill>",
        "<name>zip</name>",
        "<description>Does zip well.</description>",
        f"<location>{shelf.mine}/zip/SKILL.md</location>",
        "</skill>",
    ]
    assert has_tool(rig.requests[0])


async def test_without_a_skill_the_prompt_says_nothing_and_there_is_no_tool(shelf: Shelf) -> None:
    put_skill(shelf.mine, "off")
    shelf.state.switch("off", "", is_on=False, only_here=False)
    put_skill(shelf.folder, "untrusted")
    rig = SkillRig(shelf, says("hello"))
    await rig.run("hi")
    assert "skill" not in rig.requests[0].system.lower().replace(str(shelf.root).lower(), "")
    assert not has_tool(rig.requests[0])


async def test_a_switch_works_from_the_next_step_on(shelf: Shelf) -> None:
    put_skill(shelf.mine, "pdf")
    put_skill(shelf.mine, "zip")
    rig = SkillRig(shelf, says("1"), says("2"), says("3"), says("4"))
    await rig.run("hi")
    rig.engine.switch_skill(shelf.place, "pdf", False, only_here=True)
    await rig.run("again")
    rig.engine.switch_skill(shelf.place, "zip", False, only_here=False)
    await rig.run("again")
    rig.engine.switch_skill(shelf.place, "pdf", True, only_here=True)
    await rig.run("again")
    told = [
        [name for name in ("pdf", "zip") if f"<name>{name}</name>" in request.system]
        for request in rig.requests
    ]
    assert told == [["pdf", "zip"], ["zip"], [], ["pdf"]]
    assert [has_tool(request) for request in rig.requests] == [True, True, False, True]


async def test_what_comes_goes_and_changes_on_disk_is_in_the_next_request(shelf: Shelf) -> None:
    rig = SkillRig(shelf, says("1"), says("2"), says("3"), says("4"))
    await rig.run("hi")
    folder = put_skill(shelf.mine, "pdf")
    await rig.skills_are("pdf")
    await rig.run("again")
    put_skill(shelf.mine, "pdf", head="name: pdf\ndescription: Now of another kind.")
    await rig.once(
        lambda: rig.of(SkillsChanged)[-1].skills[0].description == "Now of another kind."
    )
    await rig.run("again")
    (folder / "SKILL.md").unlink()
    await rig.skills_are()
    await rig.run("again")
    assert ["<name>pdf</name>" in r.system for r in rig.requests] == [False, True, True, False]
    assert "Now of another kind." in rig.requests[2].system


# -- the tool ---------------------------------------------------------------------------------


async def results_of(shelf: Shelf, *names: str) -> list[str]:
    """Let the model load skills one after the other."""
    rig = SkillRig(shelf, *(calls(("skill", {"name": name})) for name in names), says("done"))
    await rig.run("go")
    return [result.text for result in rig.results]


async def test_a_loaded_skill_comes_whole_with_its_folder_and_its_files(shelf: Shelf) -> None:
    folder = put_skill(
        shelf.mine, "pdf", body="# Read\n\nRun `scripts/run.py`.", scripts__run_py="1", a_md="2"
    )
    (text,) = await results_of(shelf, "pdf")
    assert text == (
        f'<skill name="pdf" location="{folder}/SKILL.md">\n'
        "# Read\n\nRun `scripts/run.py`.\n\n"
        f"Paths in this text are relative to the skill's folder: {folder}\n"
        "Its files:\na.md\nscripts/run.py\n</skill>"
    )


async def test_the_text_is_read_anew_from_disk(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, pause_s=3600)
    try:
        put_skill(shelf.mine, "pdf", body="Do it one way.")
        await shelf.look()
        put_skill(shelf.mine, "pdf", body="Do it another way.")
        (text,) = await results_of(shelf, "pdf")
        assert "another way" in text
        assert "one way" not in text
    finally:
        await shelf.skills.close()


async def test_other_names_are_refused_in_exact_words(shelf: Shelf) -> None:
    for name in ("zip", "pdf", "off"):
        put_skill(shelf.mine, name)
    shelf.state.switch("off", "", is_on=False, only_here=False)
    assert await results_of(shelf, "x", "off", "pd", "PDF", "../pdf", "") == [
        "Error: skill 'x' not found. Available skills: pdf, zip.",
        "Error: skill 'off' is disabled.",
        "Error: skill 'pd' not found. Available skills: pdf, zip.",
        "Error: skill 'PDF' not found. Available skills: pdf, zip.",
        "Error: skill '../pdf' not found. Available skills: pdf, zip.",
        "Error: skill '' not found. Available skills: pdf, zip.",
    ]


async def test_with_no_skill_at_all_the_refusal_says_none(shelf: Shelf) -> None:
    assert await results_of(shelf, "x") == ["Error: skill 'x' not found. Available skills: none."]


async def test_a_skill_is_given_once_until_it_changes(shelf: Shelf) -> None:
    put_skill(shelf.mine, "pdf", body="first")
    twice = calls(("skill", {"name": "pdf"}))
    rig = SkillRig(shelf, twice, calls(("skill", {"name": "pdf"})), says("1"), says("2"))
    await rig.run("go")
    first, second = (result.text for result in rig.results)
    assert "first" in first
    assert second == "The skill 'pdf' is loaded already; its text above is unchanged."
    put_skill(shelf.mine, "pdf", body="second")
    rig.pick("use it", "pdf")
    await rig.until(TurnEnded, 2)
    assert "second" in rig.requests[-1].messages[-1].text


async def test_each_use_is_counted(shelf: Shelf) -> None:
    put_skill(shelf.mine, "pdf")
    await results_of(shelf, "pdf", "pdf")
    assert shelf.state.times_used("pdf") == 2


# -- chips ------------------------------------------------------------------------------------


async def test_a_picked_skill_is_in_the_request_with_the_message(shelf: Shelf) -> None:
    put_skill(shelf.mine, "pdf", body="Do it so.")
    rig = SkillRig(shelf, says("1"), says("2"))
    rig.pick("Read a.pdf", "pdf")
    await rig.until(TurnEnded)
    said = rig.requests[0].messages[-1]
    assert said.parts[0].text == "Read a.pdf"
    assert said.parts[1].text.strip().startswith('<skill name="pdf" location="')
    assert "Do it so." in said.parts[1].text
    rig.pick("And b.pdf", "pdf")
    await rig.until(TurnEnded, 2)
    assert "loaded already" in rig.requests[1].messages[-1].parts[1].text


async def test_a_picked_skill_that_is_gone_is_said_in_its_place(shelf: Shelf) -> None:
    rig = SkillRig(shelf, says("1"))
    rig.pick("Read a.pdf", "pdf")
    await rig.until(TurnEnded)
    text = prose(rig.requests[0].messages[-1])
    assert '<app:skill name="pdf" picked_by="user" status="not loaded">' in text
    assert "skill 'pdf' not found" in text


# -- folders ----------------------------------------------------------------------------------


async def test_files_of_a_skill_can_be_read_and_not_written(shelf: Shelf) -> None:
    folder = put_skill(shelf.mine, "pdf", notes_md="a note")
    outside = shelf.mine.parent / "private.txt"
    outside.write_text("private")
    (folder / "link.txt").symlink_to(outside)
    path = str(folder / "notes.md")
    rig = SkillRig(
        shelf,
        calls(("read", {"path": path})),
        calls(("write", {"path": path, "content": "x"})),
        calls(("edit", {"path": path, "old_string": "a note", "new_string": "x"})),
        calls(("write", {"path": str(folder / "new.md"), "content": "x"})),
        calls(("read", {"path": str(folder / "link.txt")})),
        calls(("read", {"path": str(outside)})),
        says("done"),
    )
    await rig.run("go")
    read, *others = (result.text for result in rig.results)
    assert "a note" in read
    assert ["outside the workspace" in text for text in others] == [True] * 5
    assert (folder / "notes.md").read_text() == "a note"
    assert not (folder / "new.md").exists()


async def test_files_of_a_skill_that_is_off_are_out_of_reach(shelf: Shelf) -> None:
    folder = put_skill(shelf.mine, "pdf", notes_md="a note")
    shelf.state.switch("pdf", "", is_on=False, only_here=False)
    rig = SkillRig(shelf, calls(("read", {"path": str(folder / "notes.md")})), says("done"))
    await rig.run("go")
    assert "outside the workspace" in rig.results[0].text


# -- subagents --------------------------------------------------------------------------------


def spawning(role: str = "general") -> Answer:
    return calls(("spawn", {"description": "a child", "prompt": "work", "agent": role}))


async def test_a_subagent_has_the_same_skills_and_may_not_write_them_either(shelf: Shelf) -> None:
    folder = put_skill(shelf.mine, "pdf", notes_md="a note")
    path = str(folder / "notes.md")
    child = [
        calls(("skill", {"name": "pdf"})),
        calls(("read", {"path": path})),
        calls(("write", {"path": path, "content": "x"})),
        says("done"),
    ]
    rig = SkillRig(shelf, spawning(), says("1"), says("2"), children={"work": child})
    rig.send("go")
    await rig.until(AgentEnded)
    requests = rig.models.requests_of("work")
    assert "<name>pdf</name>" in requests[0].system
    assert has_tool(requests[0])
    loaded, read, written = (m.results[0].text for m in requests[-1].messages if m.results)
    assert "How to do pdf." in loaded
    assert "a note" in read
    assert "outside the workspace" in written


async def test_a_subagent_whose_role_lists_tools_without_skill_has_none(shelf: Shelf) -> None:
    folder = put_skill(shelf.mine, "pdf", notes_md="a note")
    shelf.roles.mkdir(parents=True)
    (shelf.roles / "reader.md").write_text("---\nname: reader\ntools: Read, Grep\n---\nRead.\n")
    child = [calls(("read", {"path": str(folder / "notes.md")})), says("done")]
    rig = SkillRig(shelf, spawning("reader"), says("1"), says("2"), children={"work": child})
    rig.send("go")
    await rig.until(AgentEnded)
    first, second = rig.models.requests_of("work")
    assert [tool.name for tool in first.tools] == ["read", "grep", "ask_parent"]
    assert "<available_skills>" not in first.system
    assert "outside the workspace" in second.messages[-1].results[0].text


# -- roles from files -------------------------------------------------------------------------


async def test_a_role_from_a_file_is_offered_and_used(shelf: Shelf) -> None:
    shelf.roles.mkdir(parents=True)
    (shelf.roles / "scout.md").write_text(
        "---\nname: scout\ndescription: looks for things\ntools: [Read, Nonsense]\nmodel: x/y\n"
        "---\nLook in every corner.\n"
    )
    child = [says("done")]
    rig = SkillRig(shelf, spawning("scout"), says("1"), says("2"), children={"work": child})
    rig.send("go")
    asked = (await rig.until(ApprovalRequested)).request
    assert asked.title == "Start a subagent on x/y?"
    rig.engine.decide(asked.id, AllowOnce())
    await rig.until(AgentEnded)
    assert "- scout: looks for things" in rig.requests[0].system
    (request,) = rig.models.requests_of("work")
    assert request.model == "x/y"
    assert "Look in every corner." in request.system
    assert [tool.name for tool in request.tools] == ["read", "ask_parent"]
    assert "Nonsense" in rig.results[0].text


async def test_a_role_of_a_folder_counts_only_when_it_is_trusted_and_never_widens(
    shelf: Shelf,
) -> None:
    roles = shelf.root / ".agents" / "agents"
    roles.mkdir(parents=True)
    (roles / "scout.md").write_text("---\nname: scout\n---\nLook in every corner.\n")
    (roles / "explore.md").write_text("---\nname: explore\n---\nWrite everywhere.\n")
    child = [says("done")]
    rig = SkillRig(
        shelf,
        spawning("scout"),
        says("1"),
        spawning("scout"),
        says("2"),
        says("3"),
        children={"work": child},
    )
    await rig.run("go")
    assert "there is no role 'scout'" in rig.results[0].text
    rig.engine.trust_folder(shelf.place, "trust")
    rig.send("go")
    await rig.until(AgentEnded)
    assert "Look in every corner." in rig.models.requests_of("work")[0].system
    assert "explore" not in shelf.skills.catalog(shelf.place).roles


# -- trust ------------------------------------------------------------------------------------


async def test_instructions_of_a_folder_are_in_the_prompt_with_their_path_once_trusted(
    shelf: Shelf,
) -> None:
    (shelf.root / "AGENTS.md").write_text("Use tabs.\n")
    rig = SkillRig(shelf, says("1"), says("2"))
    await rig.run("hi")
    rig.engine.trust_folder(shelf.place, "trust")
    await rig.run("again")
    assert "Use tabs." not in rig.requests[0].system
    assert '<instructions path="AGENTS.md">\nUse tabs.\n</instructions>' in rig.requests[1].system
    (used,) = await rig.engine.instructions(shelf.place)
    assert (used.path, used.size) == ("AGENTS.md", 10)


async def test_the_folder_of_the_session_is_the_one_that_counts(shelf: Shelf) -> None:
    put_skill(shelf.folder, "own")
    rig = SkillRig(shelf, says("1"), says("2"))
    rig.engine.trust_folder(shelf.place, "trust", is_kept=False)
    await rig.run("hi")
    other = shelf.root.parent / "other"
    other.mkdir()
    rig.engine.set_workspace(
        rig.session_id, msgspec.structs.replace(rig.workspace, root=str(other))
    )
    await rig.run("again")
    assert ["<name>own</name>" in request.system for request in rig.requests] == [True, False]


async def test_the_window_is_told_of_the_skills_after_the_session_is_open(shelf: Shelf) -> None:
    put_skill(shelf.mine, "pdf")
    rig = SkillRig(shelf)
    told = await rig.until(SkillsChanged)
    kinds = [type(event).__name__ for event in rig.events]
    assert kinds.index("SessionOpened") < kinds.index("SkillsChanged")
    assert [skill.name for skill in told.skills] == ["pdf"]
    detail = await rig.engine.skill_detail(shelf.place, told.skills[0].directory)
    assert detail is not None
    assert detail.body == "How to do pdf."
    assert [file.path for file in detail.files] == ["SKILL.md"]
    assert await rig.engine.skill_detail(shelf.place, "/nowhere") is None


async def test_a_place_that_does_not_answer_holds_a_turn_up_once_and_not_for_ever(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_PATIENCE_S", 0.01)
    put_skill(shelf.mine, "pdf")
    gate = threading.Event()
    scan = Scanner.scan

    def slow(scanner: Scanner, place: Place) -> list[Found]:
        gate.wait(HANG_S)
        return scan(scanner, place)

    monkeypatch.setattr(Scanner, "scan", slow)
    rig = SkillRig(shelf, says("1"), says("2"))
    try:
        await rig.run("hi")
        assert not has_tool(rig.requests[0])
    finally:
        gate.set()
    await rig.skills_are("pdf")
    await rig.run("again")
    assert has_tool(rig.requests[1])
