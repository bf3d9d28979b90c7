"""A question that is skipped says so to the agent; one that is answered gives the answer."""

import asyncio

import pytest

from desktop_agent.core.events import QuestionAnswered, QuestionAsked
from desktop_agent.core.questions import Question
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.agent.questions import SKIPPED, Questions
from desktop_agent.engine.base.session import Session
from tests.helpers.scripted import MemoryStore


@pytest.mark.parametrize(("reply", "heard"), [("", SKIPPED), ("  \n", SKIPPED), ("euros", "euros")])
async def test_an_agent_is_told_when_the_person_skipped_its_question(reply, heard):
    questions, events, has_asked = Questions(), [], asyncio.Event()

    def emit(event):
        events.append(event)
        has_asked.set()

    question = Question("qu_1", "ag_1", "call_1", "Which currency?")
    info = SessionInfo("se_1", "ag_1", "", Workspace("/"), "m")
    session = Session(
        info,
        store=MemoryStore(),
        listener=emit,
        followers={},
        changed=lambda: None,
        refused=lambda _: None,
    )
    asked = asyncio.ensure_future(questions.ask(question, session))
    await has_asked.wait()
    assert isinstance(events[0], QuestionAsked)
    questions.answer(question.id, reply)
    questions.answer(question.id, "too late")
    assert await asked == heard
    assert events[1] == QuestionAnswered("ag_1", "qu_1", reply)
