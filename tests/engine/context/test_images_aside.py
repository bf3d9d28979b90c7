"""What stands in a history for images that a compaction leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from desktop_agent.core.messages import ImagePart
from desktop_agent.core.requests import Answer, ModelRequest
from desktop_agent.core.tool import ToolContext, ToolOutput
from tests.engine.context.window_rig import LongRig, WindowModel, texts
from tests.engine.rig import tool
from tests.helpers.scripted import calls, says

WINDOW = 8_000
AN_IMAGE = 1_500


def images_of(request: ModelRequest) -> int:
    results = (result for message in request.messages for result in message.results)
    return sum(len(result.images) for result in results)


class SeeingModel(WindowModel):
    """Counts images too."""

    def count(self, request: ModelRequest) -> int:
        return super().count(request) + AN_IMAGE * images_of(request)


async def shot(args: Any, _: ToolContext) -> ToolOutput:
    """Give an image, with as many characters beside it as are asked for."""
    text = f"The page {args['page']}. ".ljust(args.get("size", 0), "x")
    return ToolOutput(text, images=(ImagePart("image/png", b"x"),))


def shots(count: int, **more: Any) -> list[Answer]:
    return [calls(("shot", {"page": page, **more})) for page in range(count)]


async def test_an_image_that_makes_room_is_named_and_its_words_stay(tmp_path: Path) -> None:
    model = SeeingModel(WINDOW, *shots(8), says("Seen."))
    rig = LongRig(tmp_path, model, tools=[tool("shot", shot)])
    ended = await rig.run("Look at all pages")
    assert ended.reason == "finished"
    last = model.requests[-1]
    assert 0 < images_of(last) < 8
    gone = [text for text in texts(last.messages) if "left out" in text]
    assert gone
    for text in gone:
        assert text.startswith("The page ")
        assert "an image" in text
        assert "`read` opens it" not in text
    await rig.end()


async def test_a_long_output_with_an_image_is_in_a_file_and_its_image_is_named(
    tmp_path: Path,
) -> None:
    model = SeeingModel(2 * WINDOW, *shots(8, size=3_000), says("Seen."))
    rig = LongRig(tmp_path, model, tools=[tool("shot", shot)])
    assert (await rig.run("Look at all pages")).reason == "finished"
    gone = [text for text in texts(model.requests[-1].messages) if "put aside" in text]
    assert gone
    assert all("an image" in text and "`read` opens it" in text for text in gone)
    await rig.end()
