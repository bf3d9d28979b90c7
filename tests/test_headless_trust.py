"""What a folder brings along, on the wire: in no request before the folder is trusted."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from desktop_agent.core.events import SkillsChanged
from tests.helpers.providers import Calls, LoopbackProvider, Say
from tests.helpers.skills import put_skill
from tests.test_headless import COMMAND, run, run_lines

BROUGHT = ("SKILL-TEXT", "SKILL-ABOUT", "AGENTS-TEXT", "ROLE-TEXT", "ROLE-ABOUT", "own-skill")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that brings all there is to bring."""
    made = tmp_path / "folder"
    for place in (".agents/skills", ".claude/skills"):
        head = f"name: own-skill{place[1]}\ndescription: SKILL-ABOUT"
        put_skill(made / place, "own-skill", head=head, body="SKILL-TEXT")
    (made / "AGENTS.md").write_text("AGENTS-TEXT\n")
    (made / "CLAUDE.md").write_text("@AGENTS.md\n")
    roles = made / ".agents" / "agents"
    roles.mkdir()
    (roles / "scout.md").write_text("---\nname: scout\ndescription: ROLE-ABOUT\n---\nROLE-TEXT")
    return made


def bodies(folder: Path, *options: str) -> list[str]:
    """Run two steps that reach for what the folder brings; return all that was sent."""
    script = [
        Calls(
            ("skill", {"name": "own-skilla"}),
            ("spawn", {"description": "a scout", "prompt": "go", "agent": "scout"}),
        ),
        Say("done"),
        Say("done"),
        Say("done"),
    ]
    with LoopbackProvider("openai", script) as provider:
        where = ("--model", provider.model, "--api-base", provider.api_base)
        code, lines, _ = run_lines("Hello", "--workspace", folder, *where, *options)
        assert code == 0
        assert [line for line in lines if isinstance(line, SkillsChanged)]
        return [json.dumps(request.body) for request in provider.requests]


def test_nothing_of_an_untrusted_folder_reaches_a_provider(folder: Path) -> None:
    sent = bodies(folder)
    assert len(sent) > 1
    # The model named the skill by itself; the answer holds nothing but that name.
    assert [word for word in BROUGHT[:-1] if any(word in body for body in sent)] == []
    assert "Available skills: none" in sent[1] or "not found" in sent[1]


def test_a_folder_trusted_for_the_run_is_used_from_the_first_request_on(folder: Path) -> None:
    sent = bodies(folder, "--trust")
    assert [word for word in BROUGHT if word not in "".join(sent)] == []
    for word in ("SKILL-ABOUT", "AGENTS-TEXT", "ROLE-ABOUT", "own-skilla"):
        assert word in sent[0]
    assert sent[0].count("AGENTS-TEXT") == 1
    assert "SKILL-TEXT" not in sent[0]


def test_trust_for_a_run_is_gone_with_it_and_the_next_run_says_what_is_unused(
    folder: Path,
) -> None:
    assert run("Hello", "--workspace", folder, "--model", "demo", "--trust").stderr == ""
    ended = run("Hello", "--workspace", folder, "--model", "demo")
    assert ended.returncode == 0
    assert ended.stderr == (
        "Not used, since the folder is not trusted (see --trust): 2 skills, AGENTS.md, 1 role.\n"
    )


def test_no_module_is_taken_from_the_folder_that_the_app_is_started_in(folder: Path) -> None:
    """It would run with the person's rights, in the app or in one of its processes."""
    mark = folder.parent / "mark"
    for module in ("msgspec", "litellm", "aiohttp", "pypdf"):
        line = f"print({module!r}, file=open({str(mark)!r}, 'a'))\n"
        (folder / f"{module}.py").write_text(line)
    (folder / "a.pdf").write_bytes(b"%PDF-1.4")
    with LoopbackProvider("openai", [Calls(("read", {"path": "a.pdf"})), Say("done")]) as provider:
        model = ["--model", provider.model, "--api-base", provider.api_base]
        done = subprocess.run(
            [*COMMAND, "Go", "--workspace", str(folder), *model],
            cwd=folder,
            capture_output=True,
            check=False,
        )
    assert not mark.exists(), mark.read_text()
    assert done.returncode == 0, done.stderr
