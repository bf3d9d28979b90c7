"""Stopping a tree whose agents run real commands: when it says stopped, nothing of it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.events import AgentEnded, Event, TurnEnded
from desktop_agent.core.ids import AgentId
from desktop_agent.tools.shell import process_tree
from tests.engine.tree.tree_rig import ShellRig, gate, is_alive, pids_in, runs, spawns
from tests.helpers.patience import HANG_S
from tests.helpers.scripted import calls, says

pytestmark = pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="looks processes up in /proc"
)

STUBBORN = "trap '' TERM HUP INT; echo $$ >> {pids}; while :; do sleep 1; done"
LEFT_THE_GROUP = "setsid sh -c 'echo $$ >> {pids}; exec sleep 300'"
LEFT_AND_STUBBORN = f'setsid sh -c "{STUBBORN}"'.replace("$$", "\\$\\$")
# Twice forked, in a session of its own, its parents gone, and deaf.
DAEMON = """python3 -c "
import os, signal, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
with open('{pids}', 'a') as file: file.write(str(os.getpid()) + chr(10))
time.sleep(300)
" """


class Witness:
    """Looks, at the moment an agent's end is told, whether its processes have gone."""

    def __init__(self, rig: ShellRig) -> None:
        self.pids: dict[AgentId, list[int]] = {}
        self.lies: list[tuple[AgentId, list[int]]] = []
        self._hear, rig.hear = rig.hear, self

    def __call__(self, event: Event) -> None:
        if isinstance(event, TurnEnded | AgentEnded):
            alive = [pid for pid in self.pids.get(event.agent_id, []) if is_alive(pid)]
            if alive:
                self.lies.append((event.agent_id, alive))
        self._hear(event)


@pytest.mark.parametrize("in_background", [False, True], ids=["foreground", "background"])
@pytest.mark.parametrize(
    "command",
    [STUBBORN, LEFT_THE_GROUP, LEFT_AND_STUBBORN, DAEMON + " & sleep 300"],
    ids=["deaf", "setsid", "setsid and deaf", "daemon"],
)
async def test_a_stopped_child_has_no_process_left_when_its_end_is_told(
    tmp_path: Path, command: str, in_background: bool
) -> None:
    script: list[Any] = [runs(command.format(pids="pids"), in_background=in_background), gate()]
    rig = ShellRig(tmp_path, [spawns("a"), gate()], {"a": script})
    witness = Witness(rig)
    rig.send("go")
    child = await rig.child()
    witness.pids[child] = await pids_in(tmp_path / "pids")
    rig.engine.stop(child)
    assert rig.info(child).status == "stopping"
    ended = await rig.ended(child)
    assert (ended.status, witness.lies) == ("stopped", [])
    assert ended.text == "stopped after 1 tool; side effects may exist"
    await rig.engine.close()


async def test_a_whole_tree_goes_at_once_its_commands_in_the_background_too(
    tmp_path: Path,
) -> None:
    """Each of three agents has two deaf commands; all have their 2 s at the same time."""

    def script(name: str, then: list[Any]) -> list[Any]:
        behind = runs(STUBBORN.format(pids=name), in_background=True)
        return [behind, *then, runs(LEFT_AND_STUBBORN.format(pids=name) + " & sleep 300")]

    scripts = {"a": script("a", [spawns("b")]), "b": script("b", [])}
    rig = ShellRig(tmp_path, script("main", [spawns("a")]), scripts)
    witness = Witness(rig)
    rig.send("go")
    outer, inner = await rig.child(1), await rig.child(2)
    for name, agent_id in (("main", rig.agent_id), ("a", outer), ("b", inner)):
        witness.pids[agent_id] = await pids_in(tmp_path / name, 2)
    rig.engine.stop(rig.agent_id)
    stopping = {rig.info(agent_id).status for agent_id in witness.pids}
    await rig.status(rig.agent_id, "idle")
    assert stopping == {"stopping"}
    assert witness.lies == []
    assert [e.agent_id for e in rig.of(AgentEnded)] == [inner, outer]
    [report] = [e.report for e in rig.of(TurnEnded) if e.agent_id == rig.agent_id]
    assert report is not None
    assert report.killed == (STUBBORN.format(pids="main"),)
    assert [what[:14] for what in report.cancelled] == ["running setsid"]
    assert report.alive == ()
    await rig.engine.close()


async def test_an_idle_agents_commands_end_by_its_stop(tmp_path: Path) -> None:
    """A child that only waits for its own, and a main agent whose turn is over."""
    behind = runs(STUBBORN.format(pids="a"), in_background=True)
    scripts = {"a": [behind, spawns("b"), says("I wait")], "b": [gate()]}
    main = [runs(STUBBORN.format(pids="main"), in_background=True), spawns("a"), says("I wait")]
    rig = ShellRig(tmp_path, main, scripts)
    witness = Witness(rig)
    rig.send("go")
    outer = await rig.child(1)
    await rig.status(outer, "waiting_children")
    await rig.status(rig.agent_id, "waiting_children")
    witness.pids[outer] = await pids_in(tmp_path / "a")
    own = await pids_in(tmp_path / "main")
    rig.engine.stop(rig.agent_id)
    assert rig.info(rig.agent_id).status == "stopping"
    ended = await rig.ended(outer)
    assert (ended.status, witness.lies) == ("stopped", [])
    await rig.status(rig.agent_id, "idle")
    assert not [pid for pid in (*own, *witness.pids[outer]) if is_alive(pid)]
    await rig.engine.close()


async def test_what_a_completed_child_left_running_is_ended_too(tmp_path: Path) -> None:
    behind = runs("echo $$ > pids; exec sleep 300", in_background=True)
    rig = ShellRig(tmp_path, [spawns("a"), gate()], {"a": [behind, says("done")]})
    rig.send("go")
    child = await rig.child()
    [pid] = await pids_in(tmp_path / "pids")
    assert (await rig.ended(child)).status == "completed"
    for agent in rig.tree.all():
        await agent.commands.over()
    assert not is_alive(pid)
    await rig.engine.close()


async def test_closing_the_app_ends_all_commands_of_all_agents_at_once(tmp_path: Path) -> None:
    names = "abc"
    three = calls(*(("spawn", {"description": p, "prompt": p}) for p in names))
    scripts = {
        name: [runs(STUBBORN.format(pids="pids"), in_background=True), gate()] for name in names
    }
    rig = ShellRig(tmp_path, [three, gate()], scripts)
    rig.send("go")
    pids = await pids_in(tmp_path / "pids", 3)
    await rig.engine.close()
    assert not [pid for pid in pids if is_alive(pid)]


# Goes when all three were asked to.
POLITE = """: >> asked; trap 'echo x >> asked' TERM; echo $$ >> pids
until [ $(wc -l < asked) -ge 3 ]; do sleep 0.05; done"""


@pytest.mark.parametrize("is_closed", [True, False], ids=["close", "stop"])
async def test_no_command_waits_with_its_end_for_that_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    """The three agents have one deadline for their commands, not one after the other."""
    monkeypatch.setattr(process_tree, "_GRACE_S", HANG_S)
    three = calls(*(("spawn", {"description": name, "prompt": name}) for name in "abc"))
    scripts: dict[str, list[Any]] = {
        name: [runs(POLITE, in_background=True), gate()] for name in "abc"
    }
    rig = ShellRig(tmp_path, [three, gate()], scripts)
    rig.send("go")
    pids = await pids_in(tmp_path / "pids", 3)
    if not is_closed:
        rig.engine.stop(rig.agent_id)
        await rig.status(rig.agent_id, "idle")
    await rig.engine.close()
    assert not [pid for pid in pids if is_alive(pid)]
    assert (tmp_path / "asked").read_text() == "x\n" * 3


class Immortal:
    """A place for commands one of which can't be ended, as one of another user's can't."""

    is_clear = False

    def running(self) -> tuple[str, ...]:
        return ("server",)

    async def close(self) -> tuple[int, ...]:
        return (4711,)


async def test_what_refuses_to_go_is_named_and_nothing_is_called_stopped(tmp_path: Path) -> None:
    rig = ShellRig(tmp_path, [spawns("a"), gate()], {"a": [gate()]}, new_jobs=Immortal)
    rig.send("go")
    child = await rig.child()
    await rig.status(child, "running")
    rig.engine.stop(child)
    ended = await rig.ended(child)
    words = "stopped before it ran any tools; could not be ended and still runs: pid 4711"
    assert (ended.status, ended.text) == ("failed", words)
    assert rig.notes_to(rig.agent_id, "report") == [
        f'<app:report from="the a" agent_id="{child}" status="failed">\n{words}\n</app:report>'
    ]
    rig.engine.stop(rig.agent_id)
    await rig.status(rig.agent_id, "idle")
    [report] = [e.report for e in rig.of(TurnEnded) if e.agent_id == rig.agent_id]
    assert report is not None
    assert report.alive == (4711,)
    assert report.killed == ("server",)
