"""An image that a provider refuses stays in the history: the session must go on all the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.faults import Fault, FaultKind, ModelError
from desktop_agent.core.ids import new_note_id
from desktop_agent.core.messages import ImagePart
from desktop_agent.core.notes import Note
from desktop_agent.core.requests import ModelRequest, StreamItem
from desktop_agent.core.tool import ToolContext, ToolOutput
from tests.engine.context.window_rig import texts
from tests.engine.rig import Rig, tool
from tests.helpers.scripted import ScriptedModel, calls, says

IMAGE = ImagePart("image/png", b"x", "a.png")
REFUSED = "you do not see it"


def images_of(request: ModelRequest) -> int:
    parts = [part for message in request.messages for part in message.parts]
    results = (len(result.images) for message in request.messages for result in message.results)
    return sum(isinstance(part, ImagePart) for part in parts) + sum(results)


class BlindModel(ScriptedModel):
    """Refuses what holds an image, as long as it has this name."""

    def __init__(self, fault: Fault, *script: Any) -> None:
        super().__init__(*script)
        self.fault = fault
        self.refused: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        if request.model == "m" and images_of(request):
            self.refused.append(request)
            raise ModelError(self.fault)
        async for item in super().stream(request):
            yield item


async def look(_: Any, __: ToolContext) -> ToolOutput:
    """Give an image."""
    return ToolOutput("a.png: an image.", images=(IMAGE,))


def rig_of(tmp_path: Path, model: ScriptedModel) -> Rig:
    return Rig(tmp_path, model=model, tools=[tool("look", look)])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("bad_request", "this model does not support image input"),
        ("server", "image input is not supported - hint: you may need to provide the mmproj"),
        ("not_found", "No endpoints found that support image input"),
        ("bad_request", "image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes"),
        ("bad_request", "unknown variant `image_url`, expected `text`"),
        ("bad_request", "messages.2.content : value must be a string"),
        ("bad_request", "'messages.2' : 'messages.2.content' must be a string"),
    ],
)
async def test_a_tools_image_that_is_refused_is_left_out_and_the_step_goes_on(
    tmp_path: Path, kind: FaultKind, words: str
) -> None:
    model = BlindModel(Fault(kind, words), calls(("look", {})), says("I can't see it."), says("Ok"))
    rig = rig_of(tmp_path, model)
    assert (await rig.run("Look")).reason == "finished"
    assert (await rig.run("And then?")).reason == "finished"
    assert len(model.refused) == 1
    (told,) = [text for text in texts(model.requests[-1].messages) if REFUSED in text]
    assert told.startswith("a.png: an image.")
    # The person still has it in the transcript, and another model may see it.
    assert rig.results[0].images == (IMAGE,)


async def test_a_persons_image_that_is_refused_is_named_to_the_model(tmp_path: Path) -> None:
    model = BlindModel(Fault("bad_request", "image input is not enabled"), says("I can't see it."))
    rig = rig_of(tmp_path, model)
    note = Note(new_note_id(), "What is this?", attachments=(IMAGE,))
    rig.engine.send(rig.agent_id, note)
    await rig.once(lambda: bool(model.requests))
    await rig.at_rest()
    said = texts(model.requests[0].messages)
    assert "What is this?" in said
    assert any(REFUSED in text for text in said)


async def test_another_model_is_sent_the_images_again(tmp_path: Path) -> None:
    model = BlindModel(Fault("bad_request", "no image input"), calls(("look", {})), says("No."))
    rig = rig_of(tmp_path, model)
    await rig.run("Look")
    model.script.append(says("A red dot."))
    rig.engine.set_model(rig.session_id, "sees", "")
    await rig.run("And now?")
    assert images_of(model.requests[-1]) == 1


async def test_a_refusal_about_something_else_is_told_as_it_is(tmp_path: Path) -> None:
    model = BlindModel(Fault("bad_request", "temperature is not allowed"), calls(("look", {})))
    rig = rig_of(tmp_path, model)
    ended = await rig.run("Look")
    assert ended.fault is not None
    assert ended.fault.message == "temperature is not allowed"
    assert len(model.refused) == 1
