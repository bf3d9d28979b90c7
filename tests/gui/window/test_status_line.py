"""The status line names the address and the model of the agent that is shown, and no other."""

from msgspec.structs import replace
from PySide6.QtGui import QAccessible

from desktop_agent.core.events import (
    AgentOpened,
    AgentsChanged,
    NoteDelivered,
    RetryScheduled,
    SessionsChanged,
    TurnEnded,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import NoteId
from desktop_agent.core.settings import Settings
from tests import gallery_story as story
from tests.helpers.windows import part

LOCAL = "http://127.0.0.1:8123/v1"


def said(window):
    return part(window, "connection").whole_text()


def choose(shown, opened, model, api_base=""):
    """Let the session run on another model from now on."""
    info = replace(opened.info, model=model, api_base=api_base)
    shown.hear(SessionsChanged((info,)))


def test_another_model_for_the_session_is_named_at_once(stage):
    async def step(shown, window):
        opened = story.working()
        shown.show(opened)
        choose(shown, opened, "openai/qwen3", LOCAL)
        shown.hear(NoteDelivered(opened.info.main_agent, NoteId("nt_1"), 1))
        assert said(window) == "127.0.0.1:8123 · qwen3 · connected"
        choose(shown, opened, "demo")
        assert said(window) == "Demo model · works offline"
        choose(shown, opened, "openai/gpt-5")
        assert said(window) == "OpenAI · gpt-5"

    stage(step)


def test_a_session_says_its_own_model_when_it_is_opened(stage):
    async def step(shown, window):
        shown.show(story.working())
        assert said(window).startswith("Anthropic · claude-sonnet-4-5")
        shown.show(story.empty())
        assert said(window) == "Demo model · works offline"

    stage(step)


def test_before_there_is_a_session_a_server_of_ones_own_goes_by_its_address(stage):
    async def step(shown, window):
        window.flow.apply_settings(Settings(model="openai/qwen3", api_base=LOCAL))
        assert said(window) == "127.0.0.1:8123 · qwen3"

    stage(step)


def test_a_subagent_on_another_model_is_named_while_it_is_shown(stage):
    async def step(shown, window):
        opened = story.team()
        shown.show(opened)
        main = said(window)
        info = next(one for one in opened.agents if one.id == story.EXPLORER)
        info = replace(info, model="ollama/gemma", api_base="http://10.0.0.4:11434")
        others = tuple(one for one in opened.agents if one.id != story.EXPLORER)
        shown.hear(AgentsChanged(opened.info.id, (*others, info)))
        window.flow.show_agent(story.EXPLORER)
        shown.hear(AgentOpened(info))
        assert said(window) == "10.0.0.4:11434 · gemma"
        # What the main agent's model says is not said of this one.
        shown.hear(TurnEnded(opened.info.main_agent, "error", fault=Fault("auth", "No")))
        assert said(window) == "10.0.0.4:11434 · gemma"
        shown.hear(RetryScheduled(story.EXPLORER, 1, 3, Fault("timeout", "Slow")))
        assert said(window) == "10.0.0.4:11434 · trying again · gemma"
        window.flow.show_agent(opened.info.main_agent)
        shown.hear(replace(opened, agents=(*others, info)))
        assert said(window).startswith(main.removesuffix(" · connected"))

    stage(step)


def test_a_screen_reader_hears_the_whole_line_as_text(stage):
    async def step(shown, window):
        shown.show(story.working())
        line = QAccessible.queryAccessibleInterface(part(window, "connection"))
        assert line.role() == QAccessible.Role.StaticText
        assert line.text(QAccessible.Text.Name) == said(window)

    stage(step)
