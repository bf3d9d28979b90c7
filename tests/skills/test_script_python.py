"""`desktop-agent --python SCRIPT`: scripts of skills run where there is no other Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import desktop_agent
from tests.helpers.patience import HANG_S


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "desktop_agent", "--python", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )


def test_a_script_runs_as_with_python_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    """What is written beside a trusted skill's script would be a change of that skill."""
    (tmp_path / "beside.py").write_text("WORD = 'found'\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, beside, pypdf\nprint(__name__, beside.WORD, sys.argv)\nsys.exit(7)\n"
    )
    before = sorted(tmp_path.iterdir())
    done = run(script, "a b", "--x")
    said = f"__main__ found {[str(script), 'a b', '--x']}\n"
    assert (done.returncode, done.stdout, done.stderr) == (7, said, "")
    assert sorted(tmp_path.iterdir()) == before


def test_without_a_script_it_says_so(tmp_path: Path) -> None:
    done = run(tmp_path / "none.py")
    assert (done.returncode, done.stderr) == (2, f"There is no script {tmp_path / 'none.py'}.\n")
    assert run().returncode == 2


def test_a_script_may_end_by_the_names_that_python_has_for_a_terminal(tmp_path: Path) -> None:
    """A frozen app starts as with `-S`, without them."""
    script = tmp_path / "script.py"
    root = Path(desktop_agent.__file__).parents[1]
    head = f"import sys; sys.path.insert(0, {str(root)!r})\n"
    program = f"{head}from desktop_agent import script_python as p; p.main(sys.argv[1:])"
    script.write_text("try:\n    quit(6)\nfinally:\n    exit(7)\n")
    command = [sys.executable, "-S", "-c", program, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (7, "")
