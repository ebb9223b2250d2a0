"""What a person reads of checks of user data."""

from __future__ import annotations

from datetime import UTC, datetime

from graveler_core.cli.health import _last_checked
from graveler_core.cli.terminal import time_for_people
from graveler_core.diagnostics.doctor.diagnosis import DataChecked
from graveler_core.model.data_check import CompleteCheck

MONDAY, TUESDAY = (datetime(2026, 1, day, tzinfo=UTC) for day in (5, 6))


def test_the_last_checks_are_said() -> None:
    never = DataChecked("lake", None, None, None)
    assert _last_checked(never) == "graveler://lake: data last checked: existence and size never, checksums never"
    sizes, checksums = CompleteCheck(began=TUESDAY, problems=0), CompleteCheck(began=MONDAY, problems=1_200)
    assert _last_checked(DataChecked("lake", sizes, checksums, TUESDAY)) == (
        f"graveler://lake: data last checked: existence and size {time_for_people(TUESDAY)}, "
        f"checksums {time_for_people(MONDAY)} (1,200 problems); unfinished since {time_for_people(TUESDAY)}"
    )
