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

from desktop_agent.core.events import MessageAdded, TurnEnded
from desktop_agent.core.ids import new_note_id
from desktop_agent.core.messages import Message, open_calls
from desktop_agent.core.notes import Note
from desktop_agent.core.requests import Answer, ModelRequest
from tests.engine.sessions.test_branches import Branched
from tests.helpers.scripted import calls, says

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "again", "edit", "switch", "reopen", "kill", "clear"]),
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
    is_cleared: bool = False

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
    def forks(self) -> list[Said]:
        """What is followed by several messages, along the branch that is shown."""
        path = [self.root, *self.path]
        return [one for one in path if len(one.after) > 1]

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
    """Call a tool for some messages, so that histories hold calls."""
    said = request.messages[-1]
    if said.role == "user" and len(said.text) % 3 == 0:
        return calls(("echo", {"what": said.text}))
    return says(f"about {said.text[:20]}")


class Trial:
    """The real session beside the model."""

    def __init__(self, folder: Path) -> None:
        self._folders = (folder / f"run {number}" for number in count())
        self._folder = next(self._folders)
        self._rig = self._opened()
        self._tree = Tree()
        self._words = (f"message {'x' * (number % 4)}{number}" for number in count())
        # Each message as it was first seen, as bytes.
        self._seen: dict[str, bytes] = {}

    def _opened(self) -> Branched:
        return Branched(self._folder, *[answer] * 200, mode="free")

    async def step(self, kind: str, number: int) -> None:
        tree, rig, path = self._tree, self._rig, self._tree.path
        if kind == "clear":
            rig.engine.clear_context(rig.agent_id)
            tree.last.is_cleared = True
        elif kind == "reopen":
            await self.close()
            self._rig = self._opened()
        elif kind == "kill":
            await self._kill()
        elif kind == "switch":
            self._switch(number)
        elif kind == "send" or not path:
            text = next(self._words)
            tree.say(text, tree.last, is_branch=False)
            await rig.turn(text)
        else:
            place = number % len(path)
            await self._branch(place, next(self._words) if kind == "edit" else None)
        self.check()

    async def _branch(self, place: int, words: str | None) -> None:
        rig, said = self._rig, self._tree.path[place]
        note = Note(new_note_id(), words) if words is not None else None
        ended = len(rig.of(TurnEnded))
        rig.engine.begin_branch(rig.agent_id, self._shown()[place].id, note)
        await rig.until(TurnEnded, ended + 1)
        await rig.at_rest()
        assert said.before is not None
        self._tree.say(words or said.text, said.before, is_branch=True)

    def _switch(self, number: int) -> None:
        forks = self._tree.forks
        if not forks:
            return
        fork = forks[number % len(forks)]
        to = number % len(fork.after)
        self._rig.switch(self._rig.points[forks.index(fork)].heads[to])
        self._tree.switch(fork.after[to])

    async def _kill(self) -> None:
        """Go on with the disk as it is now, which nobody has closed."""
        folder = next(self._folders)
        shutil.copytree(self._folder, folder)
        await self.close()
        self._folder = folder
        self._rig = self._opened()

    def _shown(self) -> list[Message]:
        self._rig.engine.open_session(self._rig.session_id)
        added = (e.message for e in self._rig.opened.events if isinstance(e, MessageAdded))
        return [message for message in added if message.role == "user"]

    def check(self) -> None:
        """Compare all that can be seen of the session with the model."""
        tree, shown = self._tree, self._shown()
        path = tree.path
        assert [message.text for message in shown] == [said.text for said in path]
        history = self._rig.agent(self._rig.agent_id).history
        assert open_calls(history) == ()
        cleared = [place for place, said in enumerate(path, 1) if said.is_cleared]
        rest = path[cleared[-1] :] if cleared else path
        assert [m.text for m in history if m.role == "user"] == [said.text for said in rest]
        for message in history:
            body = msgspec.json.encode(message)
            assert self._seen.setdefault(message.id, body) == body
        points = self._rig.opened.branches
        assert [(p.place, len(p.heads)) for p in points] == [
            (next(n for n, said in enumerate(fork.after) if said in path), len(fork.after))
            for fork in tree.forks
        ]
        assert {point.message_id for point in points} <= {message.id for message in shown}

    def unreachable(self) -> set[str]:
        """Return the last messages of branches that no switch that is shown leads to."""
        ends = {one.text for one in self._tree.root.ends()}
        reached: set[str] = set()
        seen = set[int]()
        heads = {head for point in self._rig.points for head in point.heads}
        waiting = list(heads)
        while waiting:
            head = waiting.pop()
            if head in seen:
                continue
            seen.add(head)
            self._rig.switch(head)
            reached.add(self._shown()[-1].text)
            waiting += [one for point in self._rig.points for one in point.heads]
        assert not heads or reached <= ends
        return ends - reached if heads else set()

    async def close(self) -> None:
        await self._rig.engine.close()
        self._rig.disk.close()


@settings(max_examples=20, deadline=None)
@given(STEPS)
def test_any_history_of_branches_is_what_a_plain_tree_says(steps: list[tuple[str, int]]) -> None:
    async def run() -> None:
        with TemporaryDirectory() as folder:
            trial = Trial(Path(folder))
            try:
                for kind, number in steps:
                    await trial.step(kind, number)
                assert trial.unreachable() == set()
            finally:
                await trial.close()

    asyncio.run(run())
