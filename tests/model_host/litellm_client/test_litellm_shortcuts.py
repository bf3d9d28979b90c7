"""The shortcuts under litellm must give what litellm gives, or a request is silently another."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.model_host.litellm_client.patches import FastJson, only_when_signed

_MARK = "__thought__"
_texts = st.text(max_size=8)
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=12,
)


@given(_values)
def test_a_body_says_the_same_to_the_provider(value: Any) -> None:
    usual = json.loads(json.dumps(value))
    assert json.loads(FastJson.dumps(value)) == usual


@pytest.mark.parametrize("value", [{"text": "\ud800"}, {1: "a number as key"}, {"wide": 2**80}])
def test_what_is_odd_is_encoded_all_the_same(value: Any) -> None:
    assert json.loads(FastJson.dumps(value)) == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": f"a{_MARK}b"},
        {"role": "assistant", "tool_calls": [{"id": "c"}, {"id": f"d{_MARK}e"}]},
        object(),
    ],
)
def test_a_signature_still_leaves_the_ids(message: Any) -> None:
    told: list[Any] = []

    def strip(messages: list[Any], separator: str) -> list[Any]:
        told.append(separator)
        return messages

    only_when_signed(strip)([{"role": "user", "content": _MARK}, message], _MARK)
    assert told == [_MARK]


def test_litellm_still_has_what_the_shortcuts_replace() -> None:
    """A new litellm may rename them; steps would then be slower and nobody would see why."""
    program = (
        "from desktop_agent.model_host.litellm_client import setup\n"
        "setup.prepare(); setup.load()\n"
        "import litellm.utils, litellm.llms.custom_httpx.llm_http_handler as handler\n"
        "strip = litellm.utils._remove_thought_signatures_from_messages\n"
        "signed = [{'role': 'tool', 'tool_call_id': 'a__thought__b'}]\n"
        "assert strip.__name__ == 'strip_if_signed'\n"
        "assert strip(signed, '__thought__')[0]['tool_call_id'] == 'a'\n"
        "assert handler.json.__name__ == 'FastJson'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
