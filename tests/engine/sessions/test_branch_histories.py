"""Any history of a session with branches is what a plain tree says."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.core.messages import open_calls
from desktop_agent.core.requests import Answer, ModelRequest
from tests.engine.sessions.test_branches import Branched
from tests.helpers.scripted import calls, says

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "again", "edit", "switch", "reopen", "kill", "compact"]),
        st.integers(0, 9),
    ),
    min_size=3,
    max_size=14,
)


@dataclass(eq=False)
class Said:
    """A message of the user's in the model; `used` is when its branch was shown last."""

    text: str
    before: Said | None
    after: list[Said] = field(default_factory=list)
    used: int = 0

    def ends(self) -> Iterator[Said]:
        """Yield the last messages of all branches that go through this one."""
        if not self.after:
            yield self
        for said in self.after:
            yield from said.ends()


class Tree:
    """The plain model: messages in a tree, and the last one of the branch that is shown."""

    def __init__(self) -> None:
        self.root = self.last = Said("", None)
        self._clock = count(1)

    @property
    def path(self) -> list[Said]:
        path: list[Said] = []
        one: Said | None = self.last
        while one is not None and one is not self.root:
            path.append(one)
            one = one.before
        return path[::-1]

    def say(self, text: str, after: Said, *, is_branch: bool) -> None:
        used = next(self._clock) if is_branch else after.used
        self.last = Said(text, after, used=used)
        after.after.append(self.last)

    def switch(self, to: Said) -> None:
        self.last = max(to.ends(), key=lambda one: one.used)
        self.last.used = next(self._clock)


def answer(request: ModelRequest) -> Answer:
    """Call a tool for every third message, so that histories hold calls."""
    said = request.messages[-1]
    if said.role == "user" and len(said.text) % 3 == 0:
        return calls(("echo", {"what": said.text}))
    return says(f"about {said.text[:20]}")


class Trial:
    """The real session beside the model."""

    def __init__(self, folder: Path) -> None:
        self._folders = (folder / f"run {number}" for number in count())
        self.folder = next(self._folders)
        self.rig = Branched(self.folder, *[answer] * 200, mode="free")
        self.tree = Tree()
        self.words = (f"message {"x" * (number % 4)}{number}" for number in count())
        self.known: dict[str, bytes] = {}

    async def step(self, kind: str, number: int) -> None:
        path = self.tree.path
        if kind == "send" or not path:
            text = next(self.words)
            self.tree.say(text, self.tree.last, is_branch=False)
            await self.rig.turn(text)
        elif kind in ("again", "edit"):
            said = path[number % len(path)]
            words = next(self.words) if kind == "edit" else None
            assert said.before is not None
            self.tree.say(words or said.text, said.before, is_branch=True)
            place = self._place(said)
            await self._branch(place, words)
        elif kind == "switch":
            self._switch(number)
        elif kind == "compact":
            self.rig.engine.clear_context(self.rig.agent_id)
        else:
            await self._reopen(is_kill=kind == "kill")
        self.check()

    def _place(self, said: Said) -> int:
        return self.tree_path_before.index(said)

    async def close(self) -> None:
        await self.rig.engine.close()
        self.rig.disk.close()
