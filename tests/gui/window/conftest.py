import pytest


@pytest.fixture
def scaled(theme):
    """Set the text size; it is the normal one again afterwards."""

    def scale(percent):
        theme.configure("light", percent, True)

    yield scale
    theme.configure("light", 100, True)
