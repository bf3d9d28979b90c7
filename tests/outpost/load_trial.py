"""Load on the desktop's side of outposts: `python -m tests.outpost.load_trial PART [COUNT]`.

PART and what COUNT is of: `many` subagents at work at once, then their results judged and applied
(200); `mirror` events (100000); `bytes` steps of the longest agent (80). Exit code 1 where
something is wrong; a figure that misses its goal is not.
"""

from __future__ import annotations

import asyncio
import os
import random
import shlex
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.adapters.places.agents import PlacesOfAgents
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.adapters.undo.process_history import ProcessHistory
from desktop_agent.core.events import (
    AgentEnded,
    AgentsChanged,
    MessageAdded,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.network.places import Place
from desktop_agent.core.requests import Accepted, Answer, ModelRequest
from desktop_agent.core.settings import Settings
from tests.helpers.providers import Calls, LoopbackProvider, Received, Say, Wait
from tests.helpers.scripted import calls, says
from tests.outpost.rig import far, state
from tests.outpost.sshd import loopback_ssh
from tests.outpost.test_far_agents import _BEGINS, WORKS, FarRig

FILES = ("beds.txt", "staged.txt", "new.txt")
LONG_S = 900.0
_MIRRORED = (StepStarted, StepEnded, MessageAdded, ToolStarted, ToolEnded)


class Answers:
    """A model that answers each agent with what `step` returns for its request."""

    def __init__(self, step: Callable[[ModelRequest], Awaitable[Answer]]) -> None:
        self._step = step

    async def stream(self, request: ModelRequest):
        yield Accepted()
        yield await self._step(request)


async def unpriced(_: str) -> ModelInfo | None:
    return None


def rig_with(folder: Path, model: Any, command: str, *, name: str = "desk", **more: Any) -> FarRig:
    """Return a session with a place that `command` reaches, and room for any number there."""
    box = Place("box", "command", command, False)
    settings = Settings(places=(box,), max_children=5000, max_agents=5000)
    home, goes_on = more.pop("home", folder / "home"), more.pop("goes_on", False)
    places = PlacesOfAgents(model, unpriced, lambda _: None, home, goes_on=goes_on)
    given = {"model": model, "places": places, "settings": settings, **more}
    rig = FarRig(folder / name, [], [], **given)
    rig.places = places
    return rig


async def until(holds: Callable[[], bool], most_s: float = LONG_S) -> None:
    """Look again and again until something holds. Raises TimeoutError."""
    async with asyncio.timeout(most_s):
        while not holds():  # noqa: ASYNC110 - of many things, also files
            await asyncio.sleep(0.02)


class Heard:
    """Counts what the engine tells, and does no more: in the app a window hears it elsewhere."""

    def __init__(self) -> None:
        self.of: Counter[type] = Counter()
        self.rows = 0
        self.begun: set[AgentId] = set()
        self.first = self.last = 0.0

    def __call__(self, event: Any) -> None:
        self.of[type(event)] += 1
        if isinstance(event, AgentsChanged):
            self.rows += len(event.agents)
        elif isinstance(event, _MIRRORED):
            self.last = time.perf_counter()
            self.first = self.first or self.last
            if isinstance(event, StepStarted):
                self.begun.add(event.agent_id)

    @property
    def mirrored(self) -> int:
        return sum(self.of[one] for one in _MIRRORED)


# -- many: points 2 and 12 -------------------------------------------------------------------


class Crowd:
    """Children that read, one step in `pause_s` each, until they are told to write and end.

    Every 14th changes the same line, each other makes a file of its own.
    """

    def __init__(self, count: int) -> None:
        self.pause_s = count / 40  # 40 steps, each with a call, are 80 changes a second
        self.is_ending = False

    async def step(self, request: ModelRequest) -> Answer:
        prompt, turn = request.messages[0].text, len(request.messages)
        if not prompt.startswith(WORKS):
            return says("I see.")
        if any(
            call.name in ("write", "edit") for one in request.messages for call in one.tool_calls
        ):
            return says("Done.")
        if self.is_ending and turn > 1:
            return self._change(int(prompt.split()[1]))
        await asyncio.sleep(random.uniform(0.0, 2 * self.pause_s))
        return calls(("read", {"path": FILES[turn // 2 % 3]}))

    @staticmethod
    def _change(number: int) -> Answer:
        if number % 14:
            return calls(("write", {"path": f"made-{number}.txt", "content": f"{number}\n"}))
        said = {"path": "beds.txt", "old_string": "thirteen", "new_string": f"bed {number}"}
        return calls(("read", {"path": "beds.txt"}), ("edit", said))


async def _many(place: Path, count: int) -> bool:
    crowd, heard = Crowd(count), Heard()
    store = SqliteStore(place / "sessions.db")
    rig = rig_with(place, Answers(crowd.step), far(place / "there"), store=store,
                   history=ProcessHistory(place / "undo"))  # fmt: skip
    rig.hear, folder = heard, Path(rig.workspace.root)
    before, began, busy = _files(folder), time.perf_counter(), time.thread_time()
    for number in range(count):
        assert not await rig.engine.run_on(rig.agent_id, "box", f"{WORKS} {number}")
    await until(lambda: len(heard.begun) == count)
    wall = time.perf_counter() - began
    print(f"begun: {count} in {wall:.0f} s, {(time.thread_time() - busy) / wall:.1%} busy")
    await _busy(heard, 40.0)
    crowd.is_ending, began = True, time.perf_counter()
    await until(lambda: heard.of[AgentEnded] == count)
    print(f"ended: in {time.perf_counter() - began:.0f} s")
    is_right = await _judge(rig, before, count)
    await rig.engine.close()
    store.close()
    return is_right


async def _busy(heard: Heard, window_s: float) -> None:
    """Print what share of a core this thread, the engine's, takes while they work."""
    counts, rows = Counter(heard.of), heard.rows
    began, busy = time.perf_counter(), time.thread_time()
    await asyncio.sleep(window_s)
    wall, busy = time.perf_counter() - began, time.thread_time() - busy
    told = Counter(heard.of) - counts
    steps, done = told[StepStarted] / wall, told[ToolEnded] / wall
    events = sum(told[one] for one in _MIRRORED) / wall
    changed = f"{(heard.rows - rows) / wall:.0f} rows in {told[AgentsChanged] / wall:.0f} changes"
    print(f"{steps:.0f} steps and {done:.0f} calls a second, {events:.0f} events, {changed}")
    each = busy / max(1, told[StepStarted])
    print(f"engine thread {busy / wall:.1%} busy (goal < 20 %), {each * 1e3:.2f} ms a step")


async def _judge(rig: FarRig, before: dict[str, bytes], count: int) -> bool:
    folder, session_id = Path(rig.workspace.root), rig.session_id
    kept = (await rig.engine.session_changes(session_id)).results
    began = time.perf_counter()
    judged = await rig.engine.judged_results(session_id)
    each = (time.perf_counter() - began) / max(1, len(judged)) * 1e3
    overlaps = [one for one in judged if one.overlaps]
    wanted = max(0, len(range(0, count, 14)) - 1)
    is_untouched = _files(folder) == before
    print(f"{len(kept)} results: {each:.2f} ms each to judge (goal <= 25)")
    print(f"{len(overlaps)} of {wanted} overlaps shown, the folder is as before: {is_untouched}")
    began = time.perf_counter()
    applied = await rig.engine.apply_fitting(session_id)
    each = (time.perf_counter() - began) / max(1, len(applied)) * 1e3
    after = _files(folder)
    made = [path for path in after if path.startswith("made-")]
    changed = [path for path in before if after.get(path) != before[path]]
    print(f"applied {len(applied)}: {each:.1f} ms each; {len(made)} files made, {changed} changed")
    is_whole = len(kept) == count == len(applied) + wanted and len(overlaps) == wanted
    right = (count - wanted - 1, ["beds.txt"])
    return is_untouched and is_whole and (len(made), changed) == right


def _files(folder: Path) -> dict[str, bytes]:
    return {path: text for path, text in state(folder).items() if ".outputs" not in path}


# -- mirror: point 10 ------------------------------------------------------------------------

# Says all at once what an outpost's agent says of its steps: eight events in four frames each.
_FLOODS = """
import threading
from desktop_agent.core.events import StepEnded, StepStarted, ToolEnded, ToolStarted
from desktop_agent.core.messages import ToolResult
from desktop_agent.core.usage import Usage
threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(0, 1 << 16), b"")]).start()
counter, told = itertools.count(2), []
def tell(*events):
    told.append(frame(pipe.AgentWorked(next(counter), start.key, events)))
def said(name, role, *parts):
    return MessageAdded(mine, Message(MessageId(name), role, parts))
for step in range(1, int(sys.argv[1]) // 8 + 1):
    call = ToolCall(f"call_{step}", "read", {"path": "beds.txt"})
    result = ToolResult(call.id, "1\\tthirteen" + " of them" * 12)
    tell(StepStarted(mine, step))
    tell(said(f"a{step}", "assistant", call), StepEnded(mine, step, Usage(10, 5), 900, "m"),
         ToolStarted(mine, call, "read beds.txt", time.time()))
    tell(ToolEnded(mine, result, "ok", 0.01))
    tell(said(f"t{step}", "tool", result), StepStarted(mine, step), StepEnded(mine, step))
everything = b"".join(told)
for at in range(0, len(everything), 1 << 16):
    sys.stdout.buffer.write(everything[at:at + (1 << 16)])
sys.stdout.buffer.flush()
"""


async def _mirror(place: Path, count: int) -> bool:
    flood, heard, count = place / "flood.py", Heard(), count // 8 * 8
    head, _, rest = _BEGINS.partition("mine = ")
    flood.write_text(f"{head}from desktop_agent.core.messages import ToolCall\nmine = {rest}"
                     f"{_FLOODS}")  # fmt: skip
    store = SqliteStore(place / "sessions.db")

    async def nobody(_: ModelRequest) -> Answer:
        return says("I see.")

    rig = rig_with(place, Answers(nobody), f"{sys.executable} {flood} {count}", store=store)
    rig.hear = heard
    assert not await rig.engine.run_on(rig.agent_id, "box", WORKS)
    await until(lambda: heard.mirrored >= 8)
    began, busy = time.perf_counter(), time.thread_time()
    with_most = min(LONG_S, 60 + count / 500)
    await until(lambda: heard.mirrored >= count, with_most)
    rate, busy = count / (heard.last - heard.first), time.thread_time() - busy
    share = busy / (time.perf_counter() - began)
    print(f"mirror: {count} events at {rate:.0f}/s (goal >= 20000), thread {share:.0%} busy")
    (child,) = store.load_tree(rig.session_id)
    events = store.page(rig.session_id, None, 10 * count, child.agent_id).events
    on_disk = sum(isinstance(one, _MIRRORED) for one in events)
    await rig.engine.close()
    store.close()
    print(f"on disk: {on_disk}")
    return on_disk == count


# -- bytes: point 13 -------------------------------------------------------------------------

_KEY = "sk-home-4f1d9c2b7a6e5d3c8b0a"


def _reads(request: Received, held: threading.Event) -> Any:
    words = request.user_texts[0].split()
    if words[-1] == "hold":
        return [Wait(held), Say("Done.")]
    if words[0] != WORKS or len(request.results) >= int(words[1]):
        return Say("Done.")
    return Calls(("read", {"path": FILES[len(request.results) % 3]}))


async def _bytes(place: Path, most: int) -> bool:
    steps, held = [most // 8, most // 4, most // 2, most], threading.Event()
    os.environ["OPENAI_API_KEY"] = _KEY
    with (
        loopback_ssh(place) as ssh,
        LoopbackProvider("openai", otherwise=partial(_reads, held=held), key=_KEY) as provider,
    ):
        model = HostedModel(key_for=lambda _: _KEY)
        rig, heard = rig_with(place, model, _captured(place, ssh)), Heard()
        rig.hear = heard
        rig.engine.set_model(rig.session_id, provider.model, provider.api_base)
        # Without any agent the outpost ends, and its folder is deleted.
        assert not await rig.engine.run_on(rig.agent_id, "box", f"{WORKS} hold")
        await until(lambda: heard.of[StepStarted] > 0)
        stream = place / "sent", place / "received"
        found = [await _bytes_of(rig, heard, count, stream) for count in steps]
        seen = {one.name: one.read_bytes() for one in stream}
        seen |= state(place / "there") | state(place / "tmp")
        leaks = [path for path, text in seen.items() if _KEY.encode() in text]
        asked = len(provider.requests)
        held.set()
        await rig.engine.close()
        await model.close()
    print(f"searched {len(seen)} files, {sum(map(len, seen.values()))} bytes")
    print(f"{asked} requests were made with the key, which is in: {leaks or 'nothing there'}")
    return _told_bytes(found) and not leaks and asked >= sum(steps)


# Keeps both ways of a stream in files; the far end is let go once this is killed.
_KEEPS = """
import os, subprocess, sys, threading
ends = subprocess.PIPE
there = subprocess.Popen(sys.argv[3:], stdin=ends, stdout=ends)
def hand_on(source, target, file):
    with open(file, "ab", buffering=0) as kept:
        while piece := os.read(source, 1 << 16):
            kept.write(piece)
            while piece:
                piece = piece[os.write(target, piece):]
given = 0, there.stdin.fileno(), sys.argv[1]
threading.Thread(target=hand_on, args=given, daemon=True).start()
hand_on(there.stdout.fileno(), 1, sys.argv[2])
os._exit(0)
"""


def _captured(place: Path, ssh: str) -> str:
    """Return a command for the stream that leaves both ways of it in files."""
    (place / "tmp").mkdir()
    (place / "keeps.py").write_text(_KEEPS)
    runs = f"env TMPDIR={place / 'tmp'} {far(place / 'there')}"
    keeps = f"{sys.executable} {place / 'keeps.py'} {place / 'sent'} {place / 'received'}"
    return f"{keeps} {ssh} {shlex.quote(runs)}"


def _told_bytes(found: list[tuple[int, int, int]]) -> bool:
    """Print the bytes of each count of steps; tell whether a later step takes no more."""
    for count, sent, received in found:
        print(f"{count} steps: {sent} bytes there, {received} back, "
              f"{(sent + received) / (count + 1):.0f} a step")  # fmt: skip
    totals = [(count, sent + received) for count, sent, received in found]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(totals)]
    print(f"bytes a further step: {', '.join(f'{one:.0f}' for one in slopes)} (equal if linear)")
    return slopes[-1] < 1.3 * slopes[0]


async def _bytes_of(
    rig: FarRig, heard: Heard, count: int, files: tuple[Path, Path]
) -> tuple[int, int, int]:
    """Return the steps of an agent, and the bytes that go there and back for it, its begin too."""
    before, ended = [_size(one) for one in files], heard.of[AgentEnded]
    assert not await rig.engine.run_on(rig.agent_id, "box", f"{WORKS} {count}")
    await until(lambda: heard.of[AgentEnded] > ended)
    await asyncio.sleep(1.0)
    sent, received = (_size(one) - was for one, was in zip(files, before, strict=True))
    return count, sent, received


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


_PARTS = {"many": (_many, 200), "mirror": (_mirror, 100_000), "bytes": (_bytes, 80)}


def main(part: str, count: int) -> int:
    """Run one part; return the exit code."""
    print(f"load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="t") as place:
        is_right = asyncio.run(_PARTS[part][0](Path(place), count))
    print(f"load {os.getloadavg()[0]:.1f}{'' if is_right else ': WRONG'}")
    return int(not is_right)


if __name__ == "__main__":
    wanted = sys.argv[1]
    sys.exit(main(wanted, int(sys.argv[2]) if len(sys.argv) > 2 else _PARTS[wanted][1]))
