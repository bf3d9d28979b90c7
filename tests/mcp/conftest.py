"""What speaks MCP is forked: to import its SDK takes most of a second, for each test anew."""

import pytest


@pytest.fixture(autouse=True)
def quick_hosts(forked_hosts: None) -> None:
    """Have the app of every test start its host by fork."""
