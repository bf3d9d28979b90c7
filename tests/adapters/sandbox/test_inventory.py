"""What a person sees of the sandbox and changes in it: toolchains, caches, the graphics card."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.adapters.sandbox import layout
from desktop_agent.adapters.sandbox.inventory import Inventory
from desktop_agent.adapters.sandbox.sandbox import caches_in
from desktop_agent.core.sandbox import Boundary, SandboxOptions
from tests.adapters.sandbox.bench import Bench
from tests.adapters.sandbox.conftest import need_sandbox

pytestmark = pytest.mark.skipif("sys.platform != 'linux'")


class OptionsBench(Bench):
    """A bench whose commands run with what the person opened and hid."""

    options = SandboxOptions()

    def boundary(self, *, changes: bool = True, git: bool = False) -> Boundary:
        return replace(super().boundary(changes=changes, git=git), options=self.options)


@pytest.fixture
async def bench(own_home: Path) -> AsyncIterator[OptionsBench]:
    need_sandbox({})
    made = OptionsBench(own_home)
    yield made
    await made.close()


async def test_a_toolchain_that_is_hidden_is_not_seen_by_commands_any_more(bench) -> None:
    program = bench.folder / ".pyenv" / "bin" / "python9"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho nine\n")
    program.chmod(0o755)
    found = await Inventory(caches_in(bench.data)).contents(str(bench.work))
    assert str(bench.folder / ".pyenv") in found.toolchains
    assert (await bench.run(str(program))).output == "nine\n"

    bench.options = SandboxOptions(hidden=(str(bench.folder / ".pyenv"),))
    where = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    assert "No such file" in (await bench.run(str(program), more=where)).output


async def test_a_linked_toolchain_is_hidden_by_the_name_it_is_listed_under(bench) -> None:
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "tool").write_text("seen")
    (bench.folder / ".nvm").symlink_to(elsewhere)
    assert (await bench.run("cat ~/.nvm/tool")).output == "seen"
    found = await Inventory(caches_in(bench.data)).contents(str(bench.work))
    bench.options = SandboxOptions(hidden=found.toolchains)
    assert "No such file" in (await bench.run("cat ~/.nvm/tool")).output


async def test_a_cache_is_told_with_its_folder_and_emptied_to_the_last_read_only_file(
    bench,
) -> None:
    inventory = Inventory(caches_in(bench.data))
    await bench.run(
        "mkdir -p ~/.cache/go-mod/x && head -c 300000 /dev/urandom > ~/.cache/go-mod/x/f"
        " && chmod 0500 ~/.cache/go-mod/x ~/.cache/go-mod"
    )
    (cache,) = (await inventory.contents(str(bench.work))).caches
    assert cache.folder == str(bench.work)
    assert cache.size >= 300_000

    await inventory.empty_cache(cache.id)
    assert (await inventory.contents(str(bench.work))).caches == ()
    assert (await bench.run("ls ~/.cache; echo x > ~/.cache/y && cat ~/.cache/y")).output == "x\n"


async def test_emptying_a_cache_follows_no_link_that_a_command_left_there(bench) -> None:
    mine = bench.folder / "mine"
    mine.mkdir(mode=0o555)
    (bench.folder / "big").write_bytes(b"x" * 900_000)
    inventory = Inventory(caches_in(bench.data))
    await bench.run(
        f"ln -s {mine} ~/.cache/a; ln -s {bench.folder}/big ~/.cache/b; echo > ~/.cache/c"
    )
    (cache,) = (await inventory.contents(str(bench.work))).caches
    assert cache.size < 800_000
    await inventory.empty_cache(cache.id)
    assert mine.stat().st_mode & 0o777 == 0o555
    assert (bench.folder / "big").stat().st_size == 900_000


async def test_a_check_leaves_no_cache_behind(bench) -> None:
    await bench.sandbox.check()
    assert list(caches_in(bench.data).iterdir()) == []


async def test_an_id_that_is_a_path_empties_nothing(bench) -> None:
    await bench.run("echo x > ~/.cache/y")
    inventory = Inventory(caches_in(bench.data))
    (bench.data / "sandbox" / "other" / "inner").mkdir(parents=True)
    for wrong in ("../other", "", ".", "..", str(bench.data)):
        await inventory.empty_cache(wrong)
    assert (bench.data / "sandbox" / "other" / "inner").is_dir()
    assert (await bench.run("cat ~/.cache/y")).output == "x\n"


async def test_a_device_is_there_for_commands_once_it_was_opened(bench, monkeypatch) -> None:
    # A machine for tests has no graphics card: any device will do that commands don't have.
    monkeypatch.setattr(layout, "_GRAPHICS", ("tty0", "absent*"))
    if not Path("/dev/tty0").exists():
        pytest.skip("there is no such device here")
    assert "No such file" in (await bench.run("ls /dev/tty0")).output
    bench.options = SandboxOptions(has_gpu=True)
    assert (await bench.run("ls /dev/tty0")).output == "/dev/tty0\n"
