"""Names that came from a Mac look like those that a model writes, and are other ones."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest

from desktop_agent.core.tool import ToolError
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.files.search import glob, grep
from desktop_agent.tools.files.writing import edit, write
from tests.tools.conftest import Bench

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="both are one name there")

FOLDER = unicodedata.normalize("NFD", "Büro")
MAC = f"{FOLDER}/{unicodedata.normalize('NFD', 'Grüße')} 9.41\u202fAM.txt"
TYPED = "Büro/Grüße 9.41 AM.txt"


async def test_a_name_that_only_looks_the_same_is_found_and_written_under(bench: Bench) -> None:
    path = bench.put(MAC, "hello")
    assert "hello" in (await bench.run(read, path=TYPED)).text
    preview = await bench.preview(edit, path=TYPED, old_string="hello", new_string="bye")
    assert preview.paths == (str(path),)
    await bench.run(edit, path=TYPED, old_string="hello", new_string="bye")
    assert path.read_text() == "bye"
    await bench.run(write, path=TYPED, content="needle")
    await bench.run(write, path="Büro/neü.txt", content="needle")
    assert sorted(bench.root.rglob("*.txt")) == sorted([path, bench.root / FOLDER / "neü.txt"])
    for pattern in ("Grüße*", "Büro/G*", "*9.41 AM*"):
        assert (await bench.run(glob, pattern=pattern)).text == MAC
        found = await bench.run(grep, pattern="needle", glob=pattern)
        assert found.text == f"{MAC}:1:needle"
    assert (await bench.run(grep, pattern="needle", path=TYPED)).text == f"{MAC}:1:needle"


async def test_of_several_that_look_the_same_none_is_taken_and_no_link_leads_out(
    bench: Bench, tmp_path: Path
) -> None:
    bench.put("a\u00a0b.txt", "one")
    bench.put("a\u202fb.txt", "two")
    with pytest.raises(ToolError, match="doesn't exist"):
        await bench.run(read, path="a b.txt")
    (tmp_path / "secret.txt").write_text("secret")
    (bench.root / "c\u00a0d.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(ToolError, match="outside the workspace"):
        await bench.run(read, path="c d.txt")
