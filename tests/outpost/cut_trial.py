"""Cut an outpost's stream again and again: `python -m tests.outpost.cut_trial notes [CUTS]`.

Ten notes a cut go to eight agents behind a real sshd, whose client is killed at random moments.
`leases [KILLS]` kills the app while 20 agents spend leases out of one budget. Exit code 1 where
something is wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.agents import Budget
from desktop_agent.core.events import (
    AgentEnded,
    AgentsChanged,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    StepEnded,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.core.network.places import Place
from desktop_agent.core.notes import NoteArrived
from desktop_agent.core.requests import Answer, ModelRequest
from desktop_agent.core.settings import Settings
from desktop_agent.engine.agent.remote_agent import _MIRRORED
from desktop_agent.gui.agents.rows import AgentRowBuilder
from tests.helpers.scripted import calls, says
from tests.outpost.load_trial import FILES, Answers, rig_with, until
from tests.outpost.rig import far
from tests.outpost.sshd import loopback_ssh
from tests.outpost.test_far_agents import WORKS, FarRig

_AGENTS, _NOTES_A_CUT = 8, 10
_LEASES, _LEASE, _STEP_TOKENS = 20, 145, 15
_NOTE = re.compile(r"\bnote (\d+)\.")


class Trial:
    """A session, its notes, and what was told of them at a moment at which it can't be known."""

    def __init__(self, place: Path, ssh: str) -> None:
        runs = f"env TMPDIR={place / 'tmp'} {far(place / 'there')}"
        self.place, self.goes = place, asyncio.Event()
        self.goes.set()
        self.store = SqliteStore(place / "sessions.db")
        self.rig = rig_with(place, Answers(self._step), f"{ssh} {shlex.quote(runs)}",
                            store=self.store)  # fmt: skip
        self.rig.hear = self._hear
        self.ids: list[AgentId] = []
        self.dark: dict[str, float] = {}
        self.wrong: list[str] = []
        self.ended: set[AgentId] = set()
        self.arrived: set[str] = set()
        self.infos: tuple[Any, ...] = ()
        self.rows_seen = self.notes = 0

    async def _step(self, request: ModelRequest) -> Answer:
        if not request.messages[0].text.startswith(WORKS):
            return says("I see.")
        if any("that is all" in one.text for one in request.messages if one.role == "user"):
            return says("Done.")
        await asyncio.sleep(random.uniform(0.1, 0.8))
        await self.goes.wait()
        return calls(("read", {"path": FILES[len(request.messages) // 2 % 3]}))

    def _hear(self, event: Any) -> None:
        if isinstance(event, AgentsChanged):
            self.infos = event.over(self.infos)
        elif isinstance(event, AgentEnded):
            self.ended.add(event.agent_id)
            self._check(event.agent_id, event.agent_id, "stopped")
        elif isinstance(event, NoteArrived | NoteDelivered):
            self.arrived.add(event.note_id)
            self._check(event.note_id, event.agent_id, type(event).__name__)

    def _check(self, what: str, agent_id: AgentId, said: str) -> None:
        since = self.dark.get(what)
        if since and self.rig.agent(agent_id).away_since == since:
            self.wrong.append(f"{said} during the cut in which it was sent: {what}")

    def tell(self, agent_id: AgentId, text: str = "") -> None:
        """Send a note, remembering the cut during which that is."""
        self.notes += 1
        note = self.rig.send_to(agent_id, text or f"note {self.notes}.")
        self.dark[note.id] = self.rig.agent(agent_id).away_since

    def stop(self, agent_id: AgentId) -> None:
        self.dark[agent_id] = self.rig.agent(agent_id).away_since
        self.rig.engine.stop(agent_id)

    async def watch(self) -> None:
        """Look at the rows as a window shows them; half a second after a cut they must tell."""
        builder = AgentRowBuilder()
        while True:
            await asyncio.sleep(0.05)
            now = time.time()
            for row in builder.rows(self.infos, (), now):
                since = self.rig.agent(row.key).away_since
                if row.key in self.ended or not since or now - since < 0.5:
                    continue
                self.rows_seen += 1
                if not row.chip.startswith(("No word since", "Stop on its way")):
                    self.wrong.append(f"{now - since:.1f} s after a cut: {row.chip!r}")

    async def cut(self) -> bool:
        """Kill the stream's client, if there is one."""
        found = _clients()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(found)


def _clients() -> list[int]:
    """Return the ids of the processes of ssh that this one started."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            if name == "ssh" and int(rest.split()[1]) == os.getpid():
                found.append(int(entry.name))
    return found


async def _notes(place: Path, cuts: int) -> list[str]:
    (place / "tmp").mkdir()
    (place / "there" / "config").mkdir(parents=True)
    settings_file.save(place / "there/config/settings.json", Settings(max_steps=100_000))
    with loopback_ssh(place) as ssh:
        trial = Trial(place, ssh)
        rig = trial.rig
        for number in range(_AGENTS):
            assert not await rig.engine.run_on(rig.agent_id, "box", f"{WORKS} {number}")
        trial.ids = [one.agent_id for one in trial.store.load_tree(rig.session_id)]
        await until(lambda: all(not rig.agent(one).is_under_way for one in trial.ids))
        watching = asyncio.create_task(trial.watch())
        await _cut_often(trial, cuts)
        trial.wrong += await _compared(trial)
        await _end(trial)
        watching.cancel()
        print(f"{trial.rows_seen} rows looked at during cuts, "
              f"{sum(map(bool, trial.dark.values()))} notes and stops sent in one")  # fmt: skip
        trial.wrong += _receipts(trial)
        await rig.engine.close()
        trial.store.close()
    return trial.wrong


async def _cut_often(trial: Trial, cuts: int) -> None:
    done = 0
    while done < cuts:
        for _ in range(_NOTES_A_CUT):
            await asyncio.sleep(random.uniform(0.0, 0.3))
            trial.tell(random.choice(trial.ids))
        done += await trial.cut()


async def _compared(trial: Trial) -> list[str]:
    """Compare the mirror with the outpost's own store while all wait for their models."""
    trial.goes.clear()
    notes = {one for one in trial.dark if one.startswith("no_")}
    await until(lambda: notes <= trial.arrived)
    await asyncio.sleep(3.0)
    (source,) = (trial.place / "tmp").glob("desktop-agent-outpost-*/agents-engine")
    copy = trial.place / "copy"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.lock"))
    theirs, wrong, count = SqliteStore(copy / "sessions.db"), [], 0
    by_name = {one.title: one for one in theirs.sessions()}
    for agent_id in trial.ids:
        info = by_name[trial.rig.agent(agent_id).name]
        there = [_as_here(one, agent_id) for one in _page(theirs, info.id, info.main_agent)]
        here = _page(trial.store, trial.rig.session_id, agent_id)
        told = [one for one in here if isinstance(one, _MIRRORED | NoteArrived)]
        wanted = [one for one in there if one is not None]
        count += len(wanted)
        if told != wanted:
            wrong.append(f"{agent_id}: {len(told)} events here, {len(wanted)} there")
    theirs.close()
    print(f"{count} events there, the mirror {'differs' if wrong else 'equals them'}")
    return wrong


def _page(store: SqliteStore, session_id: Any, agent_id: AgentId) -> tuple[Any, ...]:
    return store.page(session_id, None, 1_000_000, agent_id).events


def _as_here(event: Any, agent_id: AgentId) -> Any:
    if isinstance(event, NoteQueued):
        return NoteArrived(agent_id, event.note.id)
    is_own = isinstance(event, _MIRRORED)
    return msgspec.structs.replace(event, agent_id=agent_id) if is_own else None


async def _end(trial: Trial) -> None:
    """Stop half of them during a cut, with a note that is on its way; the others end."""
    await trial.cut()
    await until(lambda: all(trial.rig.agent(one).away_since for one in trial.ids))
    for agent_id in trial.ids[::2]:
        trial.tell(agent_id)
        trial.stop(agent_id)
    for agent_id in trial.ids[1::2]:
        trial.tell(agent_id, "that is all")
    trial.goes.set()
    await until(lambda: trial.ended >= set(trial.ids), 120.0)


def _receipts(trial: Trial) -> list[str]:
    wrong: list[str] = []
    total: Counter[str] = Counter()
    for agent_id in trial.ids:
        events = _page(trial.store, trial.rig.session_id, agent_id)
        notes = [one.note.id for one in events if isinstance(one, NoteQueued)]
        delivered = [one.note_id for one in events if isinstance(one, NoteDelivered)]
        returned = [one.note_id for one in events if isinstance(one, NoteReturned)]
        if Counter(notes) != Counter(delivered + returned):
            wrong.append(f"{agent_id}: a note is not delivered once or returned")
        said = [one.message.text for one in events if isinstance(one, MessageAdded)
                and one.message.role == "user"]  # fmt: skip
        words = Counter(_NOTE.findall("\n".join(said)))
        named = {one.note.id: one.note.text for one in events if isinstance(one, NoteQueued)}
        read = [words[name] for one in delivered for name in _NOTE.findall(named[one])]
        if set(read) - {1}:
            wrong.append(f"{agent_id}: a delivered note was not read exactly once")
        if sum(isinstance(one, TurnEnded) for one in events) != 1:
            wrong.append(f"{agent_id}: not one turn")
        total += Counter(delivered=len(delivered), returned=len(returned), notes=len(notes))
    print(f"{total['notes']} notes: {total['delivered']} delivered, {total['returned']} returned")
    return wrong


# -- leases: point 11 ------------------------------------------------------------------------


async def _spend(folder: Path, number: int) -> None:
    """Be one start of the app; says `spent` when all leases are used up."""
    made = folder / "made"

    async def step(request: ModelRequest) -> Answer:
        await asyncio.sleep(random.uniform(0.1, 0.6))
        with made.open("ab", buffering=0) as file:
            file.write(b"x")  # from here on a provider would charge it
        await asyncio.sleep(0.1)
        return calls(("read", {"path": FILES[len(request.messages) // 2 % 3]}))

    store = SqliteStore(folder / "sessions.db")
    box = Place("box", "command", far(folder / "there"), False)
    lease = Settings(places=(box,), max_children=50, max_agents=50,
                     subagent_budget=Budget(tokens=_LEASE))  # fmt: skip
    rig = rig_with(folder, Answers(step), "", store=store, goes_on=True, settings=lease,
                   name=f"start-{number}", home=folder / "home")  # fmt: skip
    rig.hear = lambda _: None
    if number == 0:
        rig.engine.set_budget(rig.agent_id, Budget(tokens=_LEASES * _LEASE))
        for child in range(_LEASES):
            assert not await rig.engine.run_on(rig.agent_id, "box", f"{WORKS} {child}")
    ids = [one.agent_id for one in store.load_tree(rig.session_id)]
    with contextlib.suppress(TimeoutError):
        await until(lambda: all(_is_spent(rig, one) for one in ids), 90.0)
        await asyncio.sleep(3.0)
    print(f"spent {sum(_is_spent(rig, one) for one in ids)} of {len(ids)}", flush=True)
    for agent_id in ids:
        rig.engine.stop(agent_id)
    rig.places.goes_on = False
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(rig.engine.close(), 30.0)


def _is_spent(rig: FarRig, agent_id: AgentId) -> bool:
    # The last may be held by the budget of all, a step before its own is used up.
    return rig.agent(agent_id).meter.spent.tokens >= _LEASE - _STEP_TOKENS


async def _leases(place: Path, kills: int) -> list[str]:
    made, most = place / "made", _LEASES * _LEASE // _STEP_TOKENS
    for number in range(kills + 1):
        command = [sys.executable, "-m", "tests.outpost.cut_trial", "spend", place, str(number)]
        with subprocess.Popen(command) as process:
            if number == kills:
                process.wait()
                break
            wanted = random.uniform(number + 0.3, number + 1.0) * most / (kills + 1)
            await until(lambda w=wanted: made.exists() and made.stat().st_size >= w, 120.0)
            os.kill(process.pid, signal.SIGKILL)
    store = SqliteStore(place / "sessions.db")
    (info,) = store.sessions()
    found = [_page(store, info.id, one.agent_id) for one in store.load_tree(info.id)]
    used = [one.usage for events in found for one in events if isinstance(one, StepEnded)]
    spent = sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in used)
    paid, budget = made.stat().st_size * _STEP_TOKENS, _LEASES * _LEASE
    # What was under way when the app was killed is paid, and not on disk.
    bound, paid_bound = (budget + _LEASES * _STEP_TOKENS * count for count in (1, max(1, kills)))
    print(f"{len(found)} leases, killed {kills} times: {spent} tokens on disk, {paid} asked for; "
          f"the budget is {budget}, with a step each {bound}, each time {paid_bound}")  # fmt: skip
    found = (("spent", spent, bound), ("paid", paid, paid_bound))
    return [f"{what} {one}" for what, one, most in found if one > most]


def main(part: str, count: int) -> int:
    """Run one part; return the exit code."""
    print(f"load {os.getloadavg()[0]:.1f}")
    began, run = time.monotonic(), {"notes": _notes, "leases": _leases}[part]
    with tempfile.TemporaryDirectory(prefix="t") as place:
        wrong = asyncio.run(run(Path(place), count))
    print(f"{count} in {time.monotonic() - began:.0f} s: {wrong[:5] or 'nothing wrong'}")
    print(f"{len(wrong)} wrong; load {os.getloadavg()[0]:.1f}")
    return int(bool(wrong))


if __name__ == "__main__":
    if sys.argv[1] == "spend":
        asyncio.run(_spend(Path(sys.argv[2]), int(sys.argv[3])))
    else:
        default = {"notes": 100, "leases": 1}[sys.argv[1]]
        sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else default))
