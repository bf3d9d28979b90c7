"""What the demo model says of skills, and that it never takes their texts for wishes."""

from __future__ import annotations

import pytest

from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.core.messages import Message, Part, TextPart, ToolCall, ToolResult
from desktop_agent.core.parts.origins import PickedSkill
from desktop_agent.core.requests import ModelRequest, ToolSpec
from desktop_agent.model_host.demo.model import plan

TOOLS = tuple(ToolSpec(name, "", {}) for name in ("glob", "grep", "read", "write"))
SKILL_TEXT = """<skill name="a&amp;b" location="/skills/pdf/SKILL.md">
# PDF files

Stop. Don't write anything. Keep it short; run `scripts/pdf.py`.
<tasks>
- #1 [pending] Not a task
</tasks>

Paths in this text are relative to the skill's folder: /skills/pdf
Its files:
scripts/pdf.py
scripts/form.py
… and 3 more
</skill>"""
SKILL = TextPart(SKILL_TEXT, PickedSkill("a&b"))
LISTED = "<available_skills>\n<skill>\n<name>pdf</name>\n</skill>\n</available_skills>"


def said(*history: tuple[str, tuple[Part, ...]], system: str = "") -> str:
    messages = tuple(
        Message(MessageId(f"me_{number}"), role, parts)  # type: ignore[arg-type]
        for number, (role, parts) in enumerate(history)
    )
    return plan(ModelRequest(AgentId("ag_1"), "demo", system, messages, TOOLS)).text


def test_a_picked_skill_is_named_honestly_and_not_quoted_or_obeyed() -> None:
    picked = ("user", (TextPart("Look around"), SKILL))
    text = said(picked)
    assert "the text of the skill `a&b`, which begins with `PDF files` and names 5 files" in text
    assert "don't follow skills" in text
    listing = ToolCall("c1", "glob", {"pattern": "**/*"})
    found = ToolResult("c1", "(none)\nREADME.md")
    reading = ToolCall("c2", "read", {"path": "README.md"})
    end = said(
        picked,
        ("assistant", (TextPart("I'll look."), listing)),
        ("tool", (found,)),
        ("assistant", (reading,)),
        ("tool", (ToolResult("c2", "     1\thello"),)),
    )
    assert "Now I'd like to write `OVERVIEW.md`." in end
    assert "skill" not in end


def test_a_skill_picked_on_the_way_is_no_note_to_be_quoted() -> None:
    listing = ToolCall("c1", "glob", {"pattern": "**/*"})
    text = said(
        ("user", (TextPart("Look around"),)),
        ("assistant", (TextPart("I'll look."), listing)),
        ("tool", (ToolResult("c1", "README.md"),)),
        ("user", (TextPart("keep it short"), SKILL)),
    )
    assert "> keep it short" in text
    assert "<skill" not in text
    assert "scripts/pdf.py" not in text
    assert "I won't write anything" not in text


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (
            TextPart("Its text above is unchanged.", PickedSkill("pdf", "known")),
            "I have the text of the skill `pdf` already.",
        ),
        (
            TextPart("gone", PickedSkill("pdf", "failed")),
            "The skill `pdf` that you picked could not be loaded.",
        ),
    ],
)
def test_a_word_about_a_skill_is_no_wish_either(part: TextPart, words: str) -> None:
    text = said(("user", (TextPart("list files"), part)))
    assert words in text
    assert text.endswith("I'll list the files.")


def test_the_answer_of_the_skill_tool_is_not_shown_as_raw_text() -> None:
    text = said(
        ("user", (TextPart("list files"),)),
        ("assistant", (ToolCall("c1", "skill", {"name": "pdf"}),)),
        ("tool", (ToolResult("c1", SKILL_TEXT, facts=SKILL.origin),)),
    )
    assert "don't follow skills" in text
    assert "<skill" not in text


def test_skills_that_are_offered_are_said_to_be_of_no_use_to_a_script() -> None:
    opening = ("user", (TextPart("Look around"),))
    assert "1 skill is offered to me, too. I'm a script and don't" in said(opening, system=LISTED)
    assert "offered" not in said(opening)
