"""What people do every day works in the sandbox, and leaves nothing that they did not make."""

from __future__ import annotations

from tests.adapters.sandbox.conftest import Trial


def test_everyday_work_goes_on_as_outside(trial: Trial) -> None:
    found = trial("everyday")
    assert found["wrong"] == {}
    assert found["identity"].splitlines() == ["user.name=Per P Son", "user.email=p@example.com"]


def test_no_secret_of_the_home_is_read_and_every_toolchain_runs(trial: Trial) -> None:
    found = trial("homes")
    assert found["read"] == 0
    assert found["read outside"] == found["secrets"]
    assert found["not run"] == []
    assert found["kept"]


def test_nothing_that_a_command_started_outlives_it(trial: Trial) -> None:
    found = trial("ends")
    assert found["left"] == []
    assert found["ran"] == found["expected"]


def test_the_sandbox_itself_makes_and_changes_no_file(trial: Trial) -> None:
    found = trial("nothing_made")
    assert found["differs"] == []
    assert found["seen"] > 100


def test_the_sandbox_holds_for_whoever_can_make_namespaces(trial: Trial) -> None:
    found = trial("check")
    assert found["holds"], found
    assert len(found["probes"]) == 11


def test_commands_run_although_what_the_environment_names_cannot_be_read(trial: Trial) -> None:
    assert set(trial("unreadable").values()) == {"fine\n"}


def test_nothing_is_left_of_what_commands_closed_to_everybody(trial: Trial) -> None:
    found = trial("forgotten")
    assert found["output"] == ""
    assert "a" in found["made"]
    assert (found["left"], found["is_left"]) == ([], False)
