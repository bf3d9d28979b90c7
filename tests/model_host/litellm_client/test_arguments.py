"""Arguments that models and servers write in their own ways."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.model_host.litellm_client.tool_arguments import read_arguments

OBJECTS = st.dictionaries(
    st.text(max_size=8),
    st.one_of(st.integers(), st.text(max_size=8), st.none(), st.lists(st.booleans())),
    max_size=4,
)


@given(OBJECTS)
def test_any_object_is_read_as_it_was_meant(arguments) -> None:
    assert read_arguments(json.dumps(arguments)) == (arguments, "")


@given(OBJECTS.filter(bool), st.integers(1, 200))
def test_what_was_cut_off_is_never_taken_for_whole(arguments, size) -> None:
    text = json.dumps(arguments)
    cut = text[: min(size, len(text) - 1)]
    assert read_arguments(cut) == ({}, cut)


@pytest.mark.parametrize("text", ["", "  ", "null", "None"])
def test_no_arguments_are_an_empty_object(text) -> None:
    assert read_arguments(text) == ({}, "")


def test_an_object_coded_twice_is_read() -> None:
    assert read_arguments(json.dumps('{"path": "a"}')) == ({"path": "a"}, "")


def test_an_object_sent_twice_is_read_once() -> None:
    assert read_arguments('{"path": "a"}{"path": "a"}') == ({"path": "a"}, "")
    both = '{"path": "a"}{"path": "b"}'
    assert read_arguments(both) == ({}, both)


def test_line_breaks_inside_a_string_are_kept() -> None:
    assert read_arguments('{"text": "one\ntwo\t"}') == ({"text": "one\ntwo\t"}, "")


@pytest.mark.parametrize(
    "text", ["*** Begin Patch", "[1, 2]", "7", '"words"', '{"a": 1} and more', "{'a': 1}"]
)
def test_other_text_is_kept_as_it_is(text) -> None:
    assert read_arguments(text) == ({}, text)
