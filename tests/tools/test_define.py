"""Tools as models see them: clean schemas, and errors a model can act on."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from desktop_agent.core.tool import Access, Tool, ToolContext, ToolError, ToolOutput
from desktop_agent.tools.ask import ask_user
from desktop_agent.tools.builtin import builtin_tools
from desktop_agent.tools.define import Arguments, tool
from desktop_agent.tools.shell.shell_jobs import shell_job
from tests.tools.conftest import Bench


class Inner(Arguments, frozen=True):
    """A part."""

    name: str
    kind: Literal["a", "b"] = "a"


class Sample(Arguments, frozen=True):
    """What the sample takes."""

    path: Annotated[str, Meta(description="Where.")]
    title: Annotated[str | None, Meta(description="A property that is called title.")] = None
    count: Annotated[int, Meta(ge=0)] = 1
    ratio: float = 0.5
    is_deep: bool = False
    parts: tuple[Inner, ...] = ()


@tool(access=Access.READ)
async def sample(args: Sample, ctx: ToolContext) -> ToolOutput:
    """Do a thing.

    With a second paragraph.
    """
    return ToolOutput(args.path)


def test_a_function_becomes_a_tool() -> None:
    assert sample.name == "sample"
    assert sample.description == "Do a thing.\n\nWith a second paragraph."
    assert sample.access is Access.READ


def test_the_schema_is_clean() -> None:
    assert sample.schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where."},
            "title": {"type": "string", "description": "A property that is called title."},
            "count": {"type": "integer", "default": 1, "minimum": 0},
            "ratio": {"type": "number", "default": 0.5},
            "is_deep": {"type": "boolean", "default": False},
            "parts": {
                "type": "array",
                "default": [],
                "items": {
                    "type": "object",
                    "description": "A part.",
                    "properties": {
                        "name": {"type": "string"},
                        "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
                    },
                    "required": ["name"],
                },
            },
        },
        "required": ["path"],
    }


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({}, "path is required."),
        ({"path": 3}, "path: Expected `str`, got `int`."),
        ({"path": None}, "path is required."),
        ({"path": "a", "count": "many"}, "count: Expected `int`, got `str`."),
        ({"path": "a", "count": -1}, "count: Expected `int` >= 0."),
        ({"path": "a", "parts": [{}]}, "parts[0]: Object missing required field `name`."),
        (
            {"path": "a", "parts": '[{"name": "x"}, {"name": 3}]'},
            "parts[1].name: Expected `str`, got `int`.",
        ),
        ({"path": "a", "parts": "[broken"}, "parts: Expected `array`, got `str`."),
        ({"path": "a", "parts": '[{"x": ' + "[" * 100_000}, "parts: Expected `array`, got `str`."),
        ({"path": 3, "count": 2.5}, "path: Expected `str`, got `int`; count: Expected `int`, got"),
        ({"path": "a", "parts": [{"name": "x", "kind": "c" * 9_999}]}, "parts[0].kind: Invalid"),
    ],
)
def test_wrong_arguments_are_explained(raw: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolError) as refused:
        sample.parse(raw)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 200


def test_a_model_is_told_which_values_there_are() -> None:
    with pytest.raises(ToolError, match=r"action: Expected one of kill, list, output\.$"):
        shell_job.parse({"action": "look"})


def test_what_models_do_with_arguments_is_taken_kindly() -> None:
    raw = {"path": "a", "count": "3", "title": None, "parts": '[{"name": "x"}]', "extra": 1}
    parsed = sample.parse({**raw, "is_deep": "true", "ratio": "0.25"})
    assert (parsed.count, parsed.title, parsed.parts[0].name) == (3, None, "x")
    assert (parsed.is_deep, parsed.ratio) == (True, 0.25)
    assert sample.parse({"path": "a", "count": 3.0}).count == 3
    assert sample.parse({"path": '["a"]'}).path == '["a"]'


WORKING = {"read", "write", "edit", "glob", "grep", "shell", "shell_job", "shell_input"}
WORKING |= {"web_fetch", "ask_user"}


@pytest.mark.parametrize(
    "built_in",
    [each for each in builtin_tools() if each.name in WORKING],
    ids=lambda each: each.name,
)
def test_every_working_tool_is_fit_for_any_provider(built_in: Tool) -> None:
    text = json.dumps(built_in.schema)
    assert "$ref" not in text
    assert "$defs" not in text
    assert "anyOf" not in text
    assert built_in.schema["type"] == "object"
    assert len(built_in.description) > 30
    assert all(part.get("description") for part in built_in.schema["properties"].values())
    assert built_in.describe is not None
    needs_card = built_in.access in {Access.WRITE, Access.EXECUTE, Access.NETWORK}
    assert built_in.preview is not None or not needs_card


def test_names_of_tools_are_unique() -> None:
    names = [each.name for each in builtin_tools()]
    assert len(set(names)) == len(names)
    assert set(names) >= WORKING


async def test_a_question_reaches_the_person_and_the_answer_comes_back(bench: Bench) -> None:
    result = await bench.run(ask_user, question=" Which? ", options=["red", "blue", "red", " "])
    assert result.text == "blue"
    assert bench.questions == [("Which?", ("red", "blue"))]
    with pytest.raises(ToolError, match="question is required"):
        await bench.run(ask_user, question="  ")
