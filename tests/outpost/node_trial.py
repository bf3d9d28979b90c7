"""Kill what subagents run on in a Ray cluster: `python -m tests.outpost.node_trial [KILLS]`.

Four subagents write a file a step while the processes of their nodes are killed at random moments.
Each call has to come to one end, no answer is asked for after it is known, and each file that was
written is in the patch unless its writer was told that it is gone. Exit code 1 where it is not so.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from desktop_agent.adapters.places.agents import PlacesOfAgents
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import AgentEnded, MessageAdded, ToolEnded
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import UNKNOWN_OUTCOME
from desktop_agent.core.network.places import Place
from desktop_agent.core.requests import Answer, ModelRequest
from desktop_agent.core.settings import Settings
from tests.helpers.scripted import calls, says
from tests.outpost.load_trial import Answers, unpriced, until
from tests.outpost.ray_rig import Nodes
from tests.outpost.test_far_agents import WORKS, FarRig

_AGENTS, _STEPS = 4, 60
_NAMED = re.compile(r"n(\d+)\.txt")


async def _step(request: ModelRequest) -> Answer:
    if not request.messages[0].text.startswith(WORKS):
        return says("I see.")
    done = sum(one.role == "assistant" for one in request.messages)
    await asyncio.sleep(random.uniform(0.0, 0.1))
    if done >= _STEPS:
        return says("Done.")
    return calls(("write", {"path": f"n{done}.txt", "content": f"{done}\n" * 200}))


async def _run(place: Path, nodes: Nodes, kills: int) -> list[str]:
    command = nodes.place(place / "home").removeprefix("command: ").removesuffix("+ray")
    box = Place("box", "command", command, has_ray=True)
    model, store = Answers(_step), SqliteStore(place / "sessions.db")
    places = PlacesOfAgents(model, unpriced, lambda _: None, place / "app")
    settings = Settings(places=(box,), max_children=50, max_agents=50)
    rig = FarRig(place / "desk", [], [], model=model, places=places, settings=settings, store=store)
    ended: dict[AgentId, AgentEnded] = {}

    def hear(event: Any) -> None:
        if isinstance(event, AgentEnded):
            ended[event.agent_id] = event

    rig.hear = hear
    for number in range(_AGENTS):
        assert not await rig.engine.run_on(rig.agent_id, "box", f"{WORKS} {number}")
    ids = [one.agent_id for one in store.load_tree(rig.session_id)]
    done = 0
    while done < kills and len(ended) < len(ids):
        await asyncio.sleep(random.uniform(0.3, 1.5))
        for pid in [pid for pids in nodes.members().values() for pid in pids][:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                done += 1
    await until(lambda: len(ended) == len(ids), 240.0)
    wrong = [f"{one}: {end.status} {end.text}" for one, end in ended.items() if end.text != "Done."]
    for agent_id in ids:
        wrong += _checked(store.page(rig.session_id, None, 1_000_000, agent_id).events, rig)
    print(f"killed {done} times")
    await rig.engine.close()
    store.close()
    return wrong


def _checked(events: tuple[Any, ...], rig: FarRig) -> list[str]:
    messages = [one.message for one in events if isinstance(one, MessageAdded)]
    made = {call.id: str(call.arguments["path"]) for one in messages for call in one.tool_calls}
    ends = Counter(one.result.call_id for one in events if isinstance(one, ToolEnded))
    wrong = [] if ends == Counter(list(made)) else ["a call has not one end"]
    results = {r.call_id: r.text for one in messages for r in one.results}
    written = {made[one] for one, text in results.items() if text != UNKNOWN_OUTCOME}
    notes = [one.text for one in messages if "computer that you worked on was lost" in one.text]
    gone = {f"n{number}.txt" for one in notes for number in _NAMED.findall(one)}
    left = rig.agent(events[0].agent_id).left_behind
    patch = Path(next(word for word in left.split() if ".outputs" in word).rstrip("."))
    there = {f"n{number}.txt" for number in _NAMED.findall(patch.read_text())}
    if lost := written - there - gone:
        wrong.append(f"{sorted(lost)} are lost, and nobody was told")
    print(f"{len(made)} calls, {len(notes)} losses, told to be gone: {sorted(gone)}, "
          f"of these not in the patch: {sorted(gone - there)}")  # fmt: skip
    return wrong


def main(kills: int) -> int:
    """Run it; return the exit code."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as ray,
        tempfile.TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as place,
    ):
        nodes = Nodes(Path(ray))
        try:
            nodes.add("head")
            nodes.add("second")
            wrong = asyncio.run(_run(Path(place), nodes, kills))
        finally:
            nodes.stop()
    print(f"{time.monotonic() - began:.0f} s: {wrong[:5] or 'nothing wrong'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 6))
