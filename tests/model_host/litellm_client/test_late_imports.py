"""What is put off while litellm is imported, and that it is all there when it is used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_START = """
import json, sys
from desktop_agent.model_host.litellm_client.setup import load, prepare
prepare()
"""
_STAND_INS = f"""{_START}
from desktop_agent.model_host.litellm_client.lazy_imports import is_stand_in
load()
found = {{
    module: [name for name, value in vars(sys.modules[module]).items() if is_stand_in(value)]
    for module in list(sys.modules) if module.startswith(("litellm", "httpx", "openai"))
}}
print(json.dumps({{module: names for module, names in found.items() if names}}))
"""
_KINDS = """
import importlib, inspect, json, sys
wanted = json.loads(sys.stdin.read())
odd = []
for module, names in wanted.items():
    for name in names:
        value = getattr(importlib.import_module(module), name)
        is_called = inspect.isclass(value) or inspect.isfunction(value)
        if not is_called and type(value).__name__ != "Command":
            odd.append(f"{module}.{name} is {value!r}")
print(json.dumps(odd))
"""


def run(code: str, given: str = "") -> str:
    """Run code in a fresh interpreter, and return what it printed."""
    ended = subprocess.run(
        [sys.executable, "-c", code], input=given, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def stand_ins() -> str:
    return run(_STAND_INS)


def test_only_what_is_called_is_put_off_never_a_value_that_an_import_reads(stand_ins) -> None:
    assert len(json.loads(stand_ins)) > 50
    assert json.loads(run(_KINDS, stand_ins)) == []


def test_what_was_put_off_is_itself_once_it_is_called() -> None:
    code = f"""{_START}
litellm = load()
from desktop_agent.model_host.litellm_client.lazy_imports import is_stand_in
kind = litellm.VectorStoreRegistry
assert is_stand_in(kind)
assert not isinstance(litellm, kind)
made = kind(vector_stores=[])
assert type(made).__module__ == "litellm.vector_stores.vector_store_registry", type(made)
assert made.vector_stores == [] and isinstance(made, kind)
from litellm.vector_stores.vector_store_registry import VectorStoreRegistry
assert not is_stand_in(VectorStoreRegistry) and type(made) is VectorStoreRegistry
print("whole")
"""
    assert run(code) == "whole\n"


def test_with_the_first_call_all_that_was_put_off_can_be_had() -> None:
    code = f"""{_START}
load()
from desktop_agent.model_host.litellm_client.lazy_imports import is_stand_in, real
names = {{}}
for module in list(sys.modules.values()):
    for value in list(vars(module).values()):
        if is_stand_in(value):
            names.setdefault(value._module, set()).add(value.__name__)
left = [
    f"{{module}}.{{name}}" for module in sorted(names) for name in names[module]
    if is_stand_in(getattr(real(module), name))
]
print(json.dumps(left))
"""
    assert json.loads(run(code)) == []


def test_what_is_put_off_is_caught_by_no_except_and_can_be_no_base_class() -> None:
    code = f"""{_START}
litellm = load()
try:
    try:
        raise ValueError("real")
    except litellm.Router:
        print("wrongly caught")
except ValueError:
    print("passed on")
try:
    class Own(litellm.Router): pass
except TypeError as error:
    print(error)
"""
    assert run(code).splitlines() == [
        "passed on",
        "litellm.router.Router is put off, and can't be a base class",
    ]


def test_types_of_the_openai_package_are_the_real_ones_whoever_asks_and_however() -> None:
    code = f"""{_START}
import openai.types.responses as package
assert "openai.types.responses.response" not in sys.modules
from openai.types.responses import Response
from openai.types.responses.response import Response as direct
assert Response is direct and package.Response is direct
names = {{}}
exec("from openai.types.graders import *", names)
assert names["MultiGrader"].__module__.startswith("openai.types.graders"), names
import openai.types
assert openai.types.chat.ChatCompletion.__name__ == "ChatCompletion"
try:
    package.Nothing
except AttributeError as error:
    print(error)
"""
    assert run(code) == "module 'openai.types.responses' has no attribute 'Nothing'\n"


def test_the_import_stays_small() -> None:
    # All of it is 2,800 modules, 180 MB and twice the time to a first request.
    code = f"{_START}load()\nprint(len(sys.modules))"
    assert int(run(code)) < 2_000
