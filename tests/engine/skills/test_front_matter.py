"""Front matter is read the same by the quick way and by PyYAML, and nothing breaks the reader."""

from __future__ import annotations

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from desktop_agent.engine.skills import front_matter, yaml_fields

_LINE = st.text(
    st.sampled_from("ab:#-'\"&*!|>%@`{}[],? \t\\\u00e9\u2028\x85\x07~=0.1yn"), max_size=12
)
_KEY = st.sampled_from(["name", "description", "a-b", "metadata", "x_y", "N"])
_FIELD = st.builds(lambda key, value: f"{key}: {value}", _KEY, _LINE)
_HEAD = st.lists(st.one_of(_FIELD, _FIELD.map(lambda f: f"  {f}"), _LINE), max_size=6).map(
    "\n".join
)


def as_yaml_says(head: str) -> object:
    """What libyaml makes of it, with every scalar kept as text.

    PyYAML's own parser takes more for YAML than the standard does, such as `name: ![`.
    """
    return yaml.load(head, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))


@settings(max_examples=400)
@given(_HEAD)
@example("name: a\ndescription: b: c")
@example("metadata:\n  name: x\nname: y")
@example("name: a #b\ndescription: a# b")
@example("name:  a\u2028b")
@example("metadata:\n\n  a-b: 'x'")
def test_the_quick_way_reads_what_yaml_reads_or_leaves_it_to_it(head: str) -> None:
    quick = front_matter.plain_fields(head)
    if quick is not None:
        assert quick == (as_yaml_says(head) or {})


@settings(max_examples=250)
@given(_HEAD)
@example("name: ![")
def test_what_yaml_can_read_is_read_as_it_does(head: str) -> None:
    try:
        wanted = as_yaml_says(head)
    except yaml.YAMLError:
        return
    read = yaml_fields.read(head)
    if (
        isinstance(wanted, dict)
        and all(isinstance(key, str) for key in wanted)
        and not read.problem
    ):
        assert read.fields == wanted


@settings(max_examples=250)
@given(st.one_of(st.text(max_size=300), _HEAD.map(lambda head: f"---\n{head}\n---\nbody")))
def test_whatever_stands_in_a_file_it_is_read_or_refused_in_words(text: str) -> None:
    read = front_matter.parse(text)
    assert isinstance(read.fields, dict)
    assert "Traceback" not in read.problem
    assert all(isinstance(key, str) for key in read.fields)
