"""The self-check says whether the app works on a computer, part by part, and is to be trusted."""

from __future__ import annotations

import asyncio
from pathlib import Path

from desktop_agent.self_check import dialects
from desktop_agent.self_check.dialects import DIALECTS
from desktop_agent.self_check.engine import EngineCheck
from desktop_agent.self_check.run import SelfCheck
from tests.helpers.noted_start import run_noting_imports


def test_a_whole_app_passes_and_every_part_has_a_line_and_nothing_is_left(tmp_path: Path) -> None:
    places = tmp_path / "places"
    places.mkdir()
    homes = {"HOME": str(tmp_path), "DESKTOP_AGENT_HOME": str(tmp_path / "untouched")}
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(places))
    checked, noted = run_noting_imports("--self-check", **homes, **temporary)
    lines = checked.stdout.splitlines()
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout + checked.stderr
    assert lines[-1] == "Everything works."
    names = [line[8:25].strip() for line in lines[:-1]]
    assert names[:7] == [
        "resources", "skills", "scripts", "sessions", "secrets", "certificates", "documents",
    ]  # fmt: skip
    running = [
        "engine and host",
        *(each.title for each in DIALECTS),
        "file history",
        "MCP",
        "sandbox",
        "providers",
        "window",
    ]
    assert names[7:] == running
    assert not (tmp_path / "untouched").exists()
    assert not list(places.iterdir())
    assert noted == {"hooked": [], "on other threads": [], "pydantic": [], "qt": True}


def test_a_part_that_fails_is_told_and_the_others_are_still_tried() -> None:
    said: list[str] = []
    whole = SelfCheck(said.append)

    def broken() -> str:
        raise OSError("no room")

    whole.check("sessions", broken)
    whole.check("resources", lambda: "all there")
    assert whole.exit_code == 1
    assert said[0].startswith("FAILED")
    assert "no room" in said[0]
    assert said[1].startswith("ok")


def test_a_provider_that_is_not_where_the_dialect_says_is_not_taken_for_one_that_works(
    tmp_path: Path, forked_hosts: None
) -> None:
    said: list[str] = []
    whole = SelfCheck(said.append)
    engine = EngineCheck(tmp_path)
    wrong = dialects.Dialect("openai", "Elsewhere", "openai/", "/v1", "/v2/other")
    with asyncio.Runner() as runner:
        whole.check("host", lambda: runner.run(engine.model_host()))
        whole.check(wrong.title, lambda: runner.run(engine.dialect(wrong)))
        runner.run(engine.close())
    assert said[0].startswith("ok"), said
    assert said[1].startswith("FAILED")
