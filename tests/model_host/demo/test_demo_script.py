"""The demo model's script: a wrong name in it would end a person's first try with a failure."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator

import pytest

from desktop_agent.core.messages import ToolCall, ToolResult
from desktop_agent.model_host.demo.history import Done
from desktop_agent.model_host.demo.orders import Wishes
from desktop_agent.model_host.demo.script import SCRIPT, WORDS, Scene, calls, fitting, says
from desktop_agent.model_host.demo.survey import Survey, Work

NOBODY: frozenset[str] = frozenset()
SURVEY = Survey((), NOBODY, "")
SURVEY.begin(fitting(SCRIPT["survey"], SURVEY)[0])
RESULT = Done(ToolCall("c", "read", {"path": "a.md"}), ToolResult("c", "     1\t# A"))
WORK = Work((), NOBODY)
TABLES = {
    **dict.fromkeys(("survey", "lead", "reading", "writing", "summary", "overview"), SURVEY),
    **dict.fromkeys(("one_line", "about"), RESULT),
    "size": SURVEY,
    "note": Wishes("", (), ()),
}
SCENES = [
    *((name, SCRIPT[name], state) for name, state in TABLES.items()),
    *((name, crew["scenes"], WORK) for name, crew in SCRIPT["crew"].items()),
    *((name, scenes, RESULT) for name, scenes in SCRIPT["results"].items()),
]


def named(scenes: Iterable[Scene]) -> Iterator[str]:
    """Yield what the scenes take from the state."""
    for scene in scenes:
        fields = string.Formatter().parse(scene.get("say", ""))
        yield from (name for _, name, _, _ in fields if name)
        yield from scene.get("do", ())
        for condition in scene.get("when", ()):
            yield condition.removeprefix("not ").rpartition(" in ")[2]


@pytest.mark.parametrize(("name", "scenes", "state"), SCENES, ids=[one[0] for one in SCENES])
def test_all_that_a_scene_names_is_there(name: str, scenes: list[Scene], state: object) -> None:
    for field in named(scenes):
        string.Formatter().get_field(field, (), {**vars(state), **WORDS})


def test_the_first_scene_that_fits_is_one_that_has_something_to_call() -> None:
    class State:
        def __init__(self) -> None:
            self.calls, self.nothing, self.yes, self.tools = [ToolCall("", "a")], [], True, {"a"}

    scenes: list[Scene] = [
        {"say": "1", "do": ["nothing"]},
        {"say": "2", "when": ["not yes"]},
        {"say": "3", "when": ["not a in tools"]},
        {"say": "4", "when": ["yes", "a in tools"], "do": ["nothing", "calls"]},
        {"say": "5{yes}"},
    ]
    state = State()
    fits = fitting(scenes, state)
    assert [scene["say"] for scene in fits] == ["4", "5{yes}"]
    assert [one.name for one in calls(fits[0], state)] == ["a"]
    assert says(scenes, state) == "4\n\n5True"
