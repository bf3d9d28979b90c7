"""Commands as they are typed: on Windows a backslash stands between folders."""

import pytest

from desktop_agent.core.prose.command_words import command_of, words_of


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (r"npx -y files C:\Users\me\Documents", ("npx", "-y", "files", r"C:\Users\me\Documents")),
        (
            r'"C:\Program Files\srv\srv.exe" --at=D:\ ',
            (r"C:\Program Files\srv\srv.exe", "--at=D:\\"),
        ),
        (r"wsl -- 'a b' #1", ("wsl", "--", "a b", "#1")),
        ('\\\\nas\\srv.exe "it\'s\\" ""', ("\\\\nas\\srv.exe", "it's\\", "")),
    ],
)
def test_a_command_of_windows_keeps_its_backslashes(command: str, words: tuple[str, ...]) -> None:
    assert words_of(command, is_windows=True) == words


@pytest.mark.parametrize("is_windows", [False, True])
def test_a_command_that_is_shown_and_kept_again_has_the_same_words(is_windows: bool) -> None:
    words = ("C:\\a b\\c.exe", "", '{"a": "it\'s"}', "D:\\", "\\", "x\ty", "ö", "#", "%PATH%", '"')
    assert words_of(command_of(words, is_windows=is_windows), is_windows=is_windows) == words


@pytest.mark.parametrize("is_windows", [False, True])
def test_a_quotation_mark_that_is_missing_is_told(is_windows: bool) -> None:
    with pytest.raises(ValueError, match="quotation"):
        words_of('a "b', is_windows=is_windows)
