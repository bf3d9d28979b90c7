"""A subagent's model: where everything goes that the agents have read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.approvals import AllowAlways, AllowOnce, Decision, Deny, Mode, Rule
from desktop_agent.core.events import AgentSpawned, ApprovalRequested, Event
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import ListedModel, Settings
from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.permissions.scope import Scope, scope_of
from desktop_agent.engine.tree.child_model import ChildModel, choose, price_text
from tests.engine.tree.tree_rig import WAIT, TreeRig, spawns
from tests.helpers.scripted import says

W = Workspace("/w")
CLOUD = Scope("openai/gpt-5", "", "ask", W)
LOCAL = Scope("openai/qwen", "http://127.0.0.1:1234/v1", "ask", W)
LISTED = (ListedModel("openai/small"), ListedModel("openai/qwen", "http://10.0.0.1/v1"))


@pytest.mark.parametrize(
    "wanted",
    ["oobabooga/http://127.0.0.1:9", "huggingface/https://evil.test/x", "openai/gpt-5-pro",
     "anthropic/claude-opus", "gpt-5-pro", "OPENAI/GPT-5", "openai/gpt-5?api_base=http://evil.test",
     "openai/gpt-5#", "bedrock/us-west-2/x", "openai/http://127.0.0.1:9", "ollama/llama3",
     "custom_openai/x", "openai//gpt-5", "litellm_proxy/gpt-5", "openai/small/"],
)  # fmt: skip
@pytest.mark.parametrize("parent", [CLOUD, LOCAL])
def test_no_name_but_the_parents_own_and_those_on_the_list_is_agreed(
    wanted: str, parent: Scope
) -> None:
    assert not choose(wanted, parent, None, LISTED).is_agreed


def test_the_parents_model_and_a_listed_one_are_agreed_with_their_addresses() -> None:
    assert choose("", LOCAL, None, ()) == ChildModel()
    assert choose(" openai/qwen ", LOCAL, None, LISTED) == ChildModel()
    assert choose("openai/small", LOCAL, None, LISTED) == ChildModel("openai/small")
    assert choose("openai/qwen", CLOUD, None, LISTED).api_base == "http://10.0.0.1/v1"
    assert choose("demo", CLOUD, None, ()).is_agreed


def test_a_model_of_the_parents_provider_is_asked_for_at_the_parents_address() -> None:
    other = choose("openai/other", LOCAL, None, ())
    assert (other.api_base, other.is_agreed) == ("http://127.0.0.1:1234/v1", False)
    assert choose("anthropic/claude", LOCAL, None, ()).api_base == ""


@pytest.mark.parametrize("wanted", ["a b", "openai/x\u202e", "x" * 201, "openai/x\ny"])
def test_what_could_draw_on_the_card_is_no_models_name(wanted: str) -> None:
    with pytest.raises(ToolError, match="model's name"):
        choose(wanted, CLOUD, None, ())


@pytest.mark.parametrize(
    ("wanted", "provider", "address"),
    [
        ("oobabooga/http://127.0.0.1:9/x", "Oobabooga", "http://127.0.0.1:9/x"),
        ("anthropic/claude", "Anthropic", "api.anthropic.com"),
        ("openai/other", "OpenAI", "http://127.0.0.1:1234/v1"),
        ("openai/http://evil.test", "OpenAI", "http://evil.test"),
        ("sagemaker/x", "Sagemaker", "the provider's usual address"),
    ],
)
def test_the_card_names_provider_and_address(wanted: str, provider: str, address: str) -> None:
    chosen = choose(wanted, LOCAL, None, ())
    assert (chosen.provider, chosen.address) == (provider, address)


def test_a_price_is_only_told_of_the_providers_own_address() -> None:
    info = ModelInfo("openai/x", input_price=0.25, output_price=2.0)
    told = price_text(ChildModel("openai/x"), info)
    assert told == "$0.25 in, $2 out per million tokens"
    assert price_text(ChildModel("openai/x", "http://a"), info) == "price unknown"
    assert price_text(ChildModel("openai/http://a"), info) == "price unknown"
    assert price_text(ChildModel("openai/x"), None) == "price unknown"


# -- in a session ------------------------------------------------------------------------------


class ModelsRig(TreeRig):
    """Answers every request with one decision, as soon as it waits."""

    def __init__(self, tmp_path: Path, decision: Decision, *main: Any, **kwargs: Any) -> None:
        self._decision = decision
        scripts = {"a": [says("done")], "b": [says("done")], "c": [spawns("b"), WAIT, says("c")]}
        super().__init__(tmp_path, [*main, WAIT, *[says("ok")] * 4], scripts, **kwargs)

    def _on_event(self, event: Event) -> None:
        super()._on_event(event)
        if isinstance(event, ApprovalRequested):
            asyncio.get_running_loop().call_soon(
                self.engine.decide, event.request.id, self._decision
            )

    async def models(self, count: int) -> list[tuple[str, str]]:
        """Run; return the models and addresses of the subagents' requests."""
        self.send("go")
        for number in range(1, count + 1):
            await self.ended(await self.child(number))
        await self.once(lambda: self.info(self.agent_id).status == "idle")
        used = [(r.model, r.api_base) for r in self.model.requests]
        await self.engine.close()
        return list(dict.fromkeys(used))


@pytest.mark.parametrize("mode", ["look", "ask", "free"])
@pytest.mark.parametrize("model", ["oobabooga/http://127.0.0.1:9", "m2", "anthropic/claude"])
async def test_another_model_is_asked_for_in_every_mode_and_refused_nothing_is_sent(
    tmp_path: Path, mode: Mode, model: str
) -> None:
    rig = ModelsRig(tmp_path, Deny(by="unattended"), spawns("a", model=model), mode=mode)
    assert await rig.models(0) == [("m", "")]
    (asked,) = rig.of(ApprovalRequested)
    assert model in asked.request.title
    assert asked.request.stakes[-1] == "price unknown"
    assert "sends what the agent has read to" in asked.request.reason
    assert "nobody is here to approve it" in rig.tool_texts(rig.agent_id)[0]
    assert not rig.of(AgentSpawned)


async def test_allowed_once_it_runs_there_and_the_price_was_shown(tmp_path: Path) -> None:
    async def known(name: str) -> ModelInfo | None:
        return ModelInfo(name, input_price=1.0, output_price=4.0)

    spawned = spawns("a", model="anthropic/claude")
    rig = ModelsRig(tmp_path, AllowOnce(), spawned, describe_model=known)
    assert ("anthropic/claude", "") in await rig.models(1)
    (asked,) = rig.of(ApprovalRequested)
    assert asked.request.stakes == (
        "Anthropic", "api.anthropic.com", "$1 in, $4 out per million tokens"
    )  # fmt: skip


async def test_allowed_always_it_is_asked_once_and_another_address_again(tmp_path: Path) -> None:
    rule = Rule("spawn", "anthropic/claude at api.anthropic.com", scope="everywhere")
    main = [spawns("a", model="anthropic/claude"), spawns("b", model="anthropic/claude")]
    rig = ModelsRig(tmp_path, AllowAlways(rule), *main)
    assert ("anthropic/claude", "") in await rig.models(2)
    assert len(rig.of(ApprovalRequested)) == 1
    assert rig.of(ApprovalRequested)[0].request.rules[0].pattern == rule.pattern


async def test_a_listed_model_runs_unasked_at_its_own_address(tmp_path: Path) -> None:
    settings = Settings(subagent_models=(ListedModel("m2", "http://10.0.0.1/v1"),))
    rig = ModelsRig(tmp_path, Deny(), spawns("a", model="m2"), settings=settings, mode="look")
    assert ("m2", "http://10.0.0.1/v1") in await rig.models(1)
    assert not rig.of(ApprovalRequested)


async def test_a_child_of_a_child_runs_where_its_parent_does(tmp_path: Path) -> None:
    """The session's model may be another provider's: the work was given to this one."""
    settings = Settings(subagent_models=(ListedModel("m2", "http://10.0.0.1/v1"),))
    rig = ModelsRig(tmp_path, Deny(), spawns("c", model="m2"), settings=settings)
    assert await rig.models(2) == [("m", ""), ("m2", "http://10.0.0.1/v1")]
    assert [e.spec.has_own_model for e in rig.of(AgentSpawned)] == [True, True]


def test_a_child_that_was_stored_with_a_model_nobody_agreed_to_gets_its_sessions() -> None:
    """Sessions of an earlier version: going on with them must not send anything elsewhere."""
    spec = AgentSpec(AgentId("ag"), "c", "p", 1, W, model="oobabooga/http://127.0.0.1:9")
    stored = msgspec.json.decode(
        msgspec.json.encode(spec).replace(b',"has_own_model":false', b""), type=AgentSpec
    )
    info = SessionInfo(SessionId("se"), AgentId("ag"), "t", W, "openai/gpt-5", "ask")
    assert scope_of(info, stored).model == "openai/gpt-5"
