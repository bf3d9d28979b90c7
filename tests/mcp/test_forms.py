"""What real servers ask the user in the middle of a call."""

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path

import mcp_types
import pytest

from desktop_agent.core.events import QuestionAnswered, QuestionAsked, ToolEnded, TurnEnded
from desktop_agent.core.parts.forms import FormAnswer, FormField
from desktop_agent.mcp_host.forms import Unfit, form_of
from tests.helpers.scripted import calls, says
from tests.mcp.rig import McpRig, asking


@asynccontextmanager
async def running(tmp_path: Path, tool: str, *, by_hand: bool = True):
    script = (calls((f"mcp__asking__{tool}", {})), says("done"))
    rig = McpRig(tmp_path, *script, servers=[asking(by_hand=by_hand)])
    rig.allow_all()
    try:
        yield rig
    finally:
        await rig.engine.close()


async def question_of(rig):
    rig.send("go")
    await rig.once(lambda: bool(rig.of(QuestionAsked) or rig.of(ToolEnded)))
    assert rig.of(QuestionAsked), rig.results
    return rig.of(QuestionAsked)[0].question


async def text_of_end(rig):
    await rig.once(lambda: bool(rig.of(TurnEnded)))
    await rig.at_rest()
    return rig.results[-1].text


async def test_a_form_is_put_to_the_user_and_the_call_goes_on_with_the_answer(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, "plant", by_hand=False) as rig:
        question = await question_of(rig)
        form = question.form
        assert form is not None
        assert (form.server, form.message) == ("asking", "What shall be planted?")
        assert form.fields == (
            FormField("plant", "Plant", "text", "Its name", is_required=True, least=2),
            FormField("count", "Count", "integer", default=3, least=1, most=99),
            FormField("is_watered", "Water it", "boolean", default=True),
            FormField(
                "bed",
                "Bed",
                "choice",
                choices=(("north", "north"), ("south", "south")),
                default="north",
            ),
        )
        values = {"plant": "beans", "count": 7, "is_watered": False, "bed": "south"}
        rig.engine.answer(question.id, "Plant: beans", FormAnswer("accept", values))
        assert "plant='beans', count=7, is_watered=False, bed='south'" in await text_of_end(rig)
        assert rig.of(QuestionAnswered)[-1].text == "Plant: beans"


async def test_a_server_of_an_older_protocol_asks_too(tmp_path: Path) -> None:
    async with running(tmp_path, "plant") as rig:
        question = await question_of(rig)
        rig.engine.answer(question.id, "beans", FormAnswer("accept", {"plant": "beans"}))
        end = json.loads(await text_of_end(rig))
        assert end == {"action": "accept", "content": {"plant": "beans"}}


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_form_may_be_declined_and_the_server_hears_how(tmp_path: Path, action) -> None:
    async with running(tmp_path, "plant") as rig:
        question = await question_of(rig)
        rig.engine.answer(question.id, "", FormAnswer(action))
        assert json.loads(await text_of_end(rig)) == {"action": action}


async def test_an_answer_in_words_alone_declines_as_where_nobody_sits_there(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, "sign_in") as rig:
        question = await question_of(rig)
        assert question.form.url == "https://garden.example/sign-in?a=1"
        rig.engine.answer(question.id, "There is nobody who could answer.")
        assert json.loads(await text_of_end(rig)) == {"action": "decline"}


async def test_a_stop_takes_the_question_back(tmp_path: Path) -> None:
    async with running(tmp_path, "plant") as rig:
        await question_of(rig)
        rig.engine.stop(rig.agent_id)
        await rig.once(lambda: bool(rig.of(QuestionAnswered)))
        assert rig.of(QuestionAnswered)[-1].by == "withdrawn"
        await rig.at_rest()
        assert rig.states()["asking"].phase == "running"


async def test_an_address_that_is_not_the_webs_is_never_shown(tmp_path: Path) -> None:
    async with running(tmp_path, "odd_address") as rig:
        rig.send("go")
        assert "https://" in await text_of_end(rig)
        assert not rig.of(QuestionAsked)


async def test_a_form_that_is_nested_too_deep_is_refused_and_nobody_waits_for_it(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, "deep") as rig:
        rig.send("go")
        assert "can't be read" in await text_of_end(rig)
        assert not rig.of(QuestionAsked)


async def test_a_server_that_asks_on_and_on_gets_no_answer_any_more(tmp_path: Path) -> None:
    async with running(tmp_path, "insist") as rig:
        before = rig.hear

        def hear(event):
            before(event)
            if isinstance(event, QuestionAsked):
                loop = asyncio.get_running_loop()
                loop.call_soon(rig.engine.answer, event.question.id, "")

        rig.hear = hear
        rig.send("go")
        assert await text_of_end(rig) == "asked 21 times"
        assert len(rig.of(QuestionAsked)) == 20


def form(**schema):
    return mcp_types.ElicitRequestFormParams(message="?", requested_schema=schema)


def one(**schema):
    return form_of(form(type="object", properties={"x": schema})).fields[0]


def test_every_form_of_choices_is_understood() -> None:
    pairs = (("a", "A"), ("b", "B"))
    titled = [{"const": value, "title": title} for value, title in pairs]
    assert one(type="string", oneOf=titled).choices == pairs
    assert one(type="string", enum=["a", "b"], enumNames=["A", "B"]).choices == pairs
    several = one(type="array", items={"anyOf": titled}, default=["b", "c"], maxItems=1)
    assert (several.kind, several.choices, several.default) == ("choices", pairs, ("b",))
    assert several.most == 1


def deep(depth):
    schema = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {str(number): {"type": "string"} for number in range(1_000)}},
        {"properties": {"n" * 500: {"type": "string"}}},
        {"properties": {"x": {"type": "string", "enum": [str(one) for one in range(10_000)]}}},
        {"properties": {"x": "no schema"}},
        {"properties": ["x"]},
        deep(1_000),
    ],
)
def test_a_form_beyond_all_bounds_is_refused(schema) -> None:
    with pytest.raises(Unfit):
        form_of(form(**schema))


def test_texts_and_numbers_of_a_form_are_bounded() -> None:
    field = one(
        type="string",
        title="t" * 500,
        description="d" * 100_000,
        default="z" * 10_000_000,
        minLength=float("inf"),
        maxLength=[1],
        format="evil",
    )
    assert len(field.title) == 200
    assert len(field.about) == 300
    assert (field.default, field.least, field.most, field.form) == (None, None, None, "")
    assert (
        len(
            form_of(
                mcp_types.ElicitRequestFormParams(
                    message="m" * 10_000_000, requested_schema={"type": "object", "properties": {}}
                )
            ).message
        )
        == 2_000
    )


@pytest.mark.parametrize(
    "address",
    [
        "http://evil.example/",
        "javascript:alert(1)",
        "https://me:secret@evil.example/",
        "https://",
        "https://[broken/",
        "https://evil.example/" + "a" * 3_000,
        "https://evil.example/\u202egnp.exe",
        "https://evil.example/ two",
    ],
)
def test_an_address_that_misleads_is_refused(address) -> None:
    asked = mcp_types.ElicitRequestURLParams(message="?", url=address, elicitation_id="1")
    with pytest.raises(Unfit):
        form_of(asked)
