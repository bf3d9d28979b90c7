"""A rule is for a tool by its name: no tool of another server or folder may come to have it."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.engine.mcp.names import name_of

# Parts that run together, or look alike once providers take them.
PARTS = st.text("ab_.-ä", min_size=1, max_size=6)
LONG = st.sampled_from(["a" * 24, "a" * 25, "a" * 60, "b" * 80])
TOOLS = st.tuples(PARTS | LONG, PARTS | LONG, st.sampled_from(["", "/one", "/two"]))


@given(TOOLS, TOOLS)
def test_no_two_tools_share_a_name(one: tuple[str, str, str], two: tuple[str, str, str]) -> None:
    assert (name_of(*one) == name_of(*two)) == (one == two)


@given(TOOLS)
def test_names_are_such_as_providers_take(tool: tuple[str, str, str]) -> None:
    name = name_of(*tool)
    assert len(name) <= 64
    assert name.isascii()
    assert name.replace("-", "_").isidentifier()


def test_what_a_folder_brings_never_goes_by_the_name_of_the_users_own_server() -> None:
    assert name_of("db", "query") == "mcp__db__query"
    names = {name_of("db", "query", where) for where in ("", "/one", "/two")}
    assert len(names) == 3
