"""The demo model's script, `resources/demo-model.toml`, and what plays its scenes."""

from __future__ import annotations

import os
import string
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from desktop_agent.core.messages import ToolCall
from desktop_agent.core.prose import markdown as md
from desktop_agent.paths import resource

# `slow` is for a person, and set by the start of a window unless the person set it to something
# else; all else is quick: runs without a window, `--demo-run`, tests.
VARIABLE = "DESKTOP_AGENT_DEMO_PACE"
_QUICK = 0.12

Scene = Mapping[str, Any]
SCRIPT: Scene = tomllib.loads(resource("demo-model.toml").read_text("utf-8"))
WORDS: Mapping[str, str] = SCRIPT["words"]
# How a value is shown; `{paths:files}` is `3 files`. Other names are tables of scenes.
_FORMATS: Mapping[str, Any] = {
    "plain": md.plain,
    "code": md.code,
    "codes": md.codes,
    "quote": md.quote,
    "quotes": lambda texts: md.joined(*map(md.quote, texts)),
    "fence": lambda lines: md.fence(lines or ["(nothing)"]),
    "arguments": lambda calls: md.codes(str(*one.arguments.values()) for one in calls),
    "names": lambda names: " and ".join(f"“{name}”" for name in names),
    "reasons": lambda found: " ".join(f"“{name}”: {why}" for name, why in found.items()),
    "files": lambda paths: md.counted(len(paths), "file"),
    "folders": lambda paths: md.counted(len(paths), "folder"),
    "lines are": lambda lines: md.counted(len(lines), "line is", "lines are"),
}


class Step(NamedTuple):
    """One answer: what is said, and calls (their ids come later) after a pause to be watched."""

    text: str
    wants: tuple[ToolCall, ...] = ()
    thinking: str = ""
    pause_s: float = 0.0


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if own := _FORMATS.get(format_spec):
            return own(value)
        if scenes := SCRIPT.get(format_spec.removeprefix("- ")):
            told = [says(scenes, one) for one in value]
            is_list = format_spec.startswith("- ")
            return "\n".join(f"- {one}" for one in told) if is_list else md.joined(*told)
        return super().format_field(value, format_spec)


def fitting(scenes: Iterable[Scene], state: object) -> list[Scene]:
    """Return the scenes whose conditions hold, without those that would call nothing."""
    values = _values(state)
    fits = [one for one in scenes if all(_holds(name, values) for name in one.get("when", ()))]
    return [scene for scene in fits if "do" not in scene or calls(scene, state)]


def says(scenes: Iterable[Scene], state: object) -> str:
    """Return what all scenes that fit say, one after the other."""
    return md.joined(*(filled(scene["say"], state) for scene in fitting(scenes, state)))


def filled(text: str, state: object) -> str:
    """Return the text with the values that it names."""
    return _Formatter().vformat(text, (), _values(state))


def calls(scene: Scene, state: object) -> tuple[ToolCall, ...]:
    """Return the calls that a scene makes."""
    return tuple(one for name in scene.get("do", ()) for one in vars(state)[name])


def call(name: str, /, **arguments: object) -> ToolCall:
    """Return a tool call without an id."""
    return ToolCall("", name, arguments)


def seconds(leisurely: float) -> float:
    """Return how long a pause is at the pace that holds."""
    return leisurely if os.environ.get(VARIABLE) == "slow" else leisurely * _QUICK


def _values(state: object) -> Mapping[str, Any]:
    return {**WORDS, **(state if isinstance(state, Mapping) else vars(state))}


def _holds(condition: str, values: Mapping[str, Any]) -> bool:
    item, _, group = condition.removeprefix("not ").partition(" in ")
    found = item in values[group] if group else _Formatter().get_field(item, (), values)[0]
    return bool(found) != condition.startswith("not ")
