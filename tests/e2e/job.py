"""The main job, as a model would do it: read a file, edit it, run the tests, answer."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from desktop_agent.core.approvals import Rule
from tests.helpers.providers import Calls, Pace, Received, Say, Step, Think

REQUEST = "Prices come out without tax. Fix it, run the tests and tell me how it went."
COMMAND = "pytest -q -p no:cacheprovider"
ANSWER = "The tax is added now, and the tests pass."
WRONG = "    return net\n"
RIGHT = "    return net + net * percent // 100\n"

# What lets the job run where nobody is there to ask.
RULES = (
    Rule("edit", "prices.py", scope="everywhere"),
    Rule("shell", "pytest", scope="everywhere"),
)


def make_folder(parent: Path) -> Path:
    """Make a folder with a mistake in it and a test that finds the mistake."""
    folder = parent / "shop"
    folder.mkdir(parents=True)
    (folder / "prices.py").write_text(f"def gross(net, percent):\n{WRONG}")
    (folder / "test_prices.py").write_text(
        "from prices import gross\n\n\ndef test_tax_is_added():\n    assert gross(100, 19) == 119\n"
    )
    return folder


def is_fixed(folder: Path) -> bool:
    """Whether the mistake is gone from the file."""
    return (folder / "prices.py").read_text() == f"def gross(net, percent):\n{RIGHT}"


def script() -> list[Step]:
    """Return the model's side; each step looks at what the one before it gave."""
    return [
        [
            Think("I need to see the file first."),
            Say("I look at `prices.py`."),
            Calls(("read", {"path": "prices.py"})),
        ],
        _edit,
        _test,
        _answer,
    ]


def _edit(request: Received) -> Step:
    assert "return net" in request.results[-1], request.results
    change = {"path": "prices.py", "old_string": WRONG, "new_string": RIGHT}
    # Slow enough to be seen arriving, on a busy computer too.
    return [Pace(16, per_second=20, text="The tax is missing. "), Calls(("edit", change))]


def _test(request: Received) -> Step:
    assert not request.results[-1].startswith("Error"), request.results
    return Calls(("shell", {"command": COMMAND}))


def _answer(request: Received) -> Step:
    assert "1 passed" in request.results[-1], request.results
    return Say(ANSWER, chunks=6)


def refused_script() -> list[Step]:
    """Return the model's side where neither change nor command is allowed."""
    return [
        *script()[:2],
        Calls(("shell", {"command": COMMAND})),
        lambda request: Say(f"I was not allowed to: {request.results[-2]} {request.results[-1]}"),
    ]


def surroundings() -> dict[str, str]:
    """Return an environment in which `pytest` is the one that runs these tests, alone."""
    own = str(Path(sys.executable).parent)
    path = os.pathsep.join([own, os.environ.get("PATH", "")])
    return {"PATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
