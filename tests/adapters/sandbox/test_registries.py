"""Where packages come from: what the tools on this computer say themselves, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from desktop_agent.adapters.sandbox.registries import PackageRegistries, places_in
from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox
from desktop_agent.tools.shell.environment import command_environment
from tests.adapters.sandbox.conftest import need_sandbox


def test_addresses_are_read_and_all_else_is_left_out() -> None:
    output = """
        https://user:secret@packages.example/simple/
        https://Files.example
        http://plain.example:8080/x
        https://localhost:4873/
        http://10.0.0.1/
        https://one
        direct
        off
        https://[broken
        ftp://old.example/
        *** sources
    """
    places = places_in(output)
    assert "packages.example:443" in places
    assert "files.example:443" in places
    assert "plain.example:8080" in places
    assert not any("secret" in place or "localhost" in place for place in places)
    assert not any(place.startswith(("one", "direct", "off", "old")) for place in places)


def test_a_tool_that_names_thousands_is_not_offered_whole() -> None:
    assert len(places_in("".join(f"https://h{n}.example\n" for n in range(5_000)))) == 24


async def test_the_tools_of_this_computer_are_asked_within_the_sandbox(tmp_path: Path) -> None:
    need_sandbox({})
    named = _named_by_pip()
    registries = PackageRegistries(
        BubblewrapSandbox(tmp_path), tmp_path / "empty", lambda: command_environment({})
    )
    places = await registries.places()
    assert set(named) <= set(places)
    assert await registries.places() is places, "asked twice"


def _named_by_pip() -> tuple[str, ...]:
    python = shutil.which("python3") or pytest.skip("there is no Python to ask")
    words = "from pip._internal.models.index import PyPI as i; print(i.simple_url)"
    told = subprocess.run([python, "-I", "-c", words], capture_output=True, text=True, check=False)
    return places_in(told.stdout) or pytest.skip("pip is not installed here")
