"""State of one examination: the plan, the time budget, and the findings so far.

Quick checks of all repositories come first, then checks that list storage namespaces, then, on request, checks that
read all data. A short budget therefore finds the most likely problems.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from graveler_core.diagnostics.budget import Budget, SpentError
from graveler_core.diagnostics.doctor.diagnosis import Ailment, DataChecked, Diagnosis, diagnosis
from graveler_core.diagnostics.plan import DoctorPlan
from graveler_core.errors import CorruptData, GravelerError
from graveler_core.stores import Stores
from graveler_core.telemetry.secrets import without_secrets

MOST = 1_000
"""Maximum number of findings."""
OFF_BY = timedelta(minutes=1)
"""Tolerated difference between clocks."""
DAY = timedelta(days=1)
"""Time after which leftovers are reported that a daily cleaner would have removed."""


@dataclass(slots=True)
class Examination:
    """Examination in progress."""

    stores: Stores
    plan: DoctorPlan
    budget: Budget
    now: datetime
    found: list[Diagnosis] = field(default_factory=list)
    unseen: list[tuple[str, str]] = field(default_factory=list)
    checked: list[DataChecked] = field(default_factory=list)

    @contextmanager
    def looking(self, what: str) -> Iterator[None]:
        """Note a failed or incomplete check inside the `with` statement, and continue with the next one."""
        try:
            yield
        except SpentError:
            self.unseen.append((what, "the time limit was reached"))
        except GravelerError as e:
            self.unseen.append((what, without_secrets(e.message)))

    def tell(self, ailment: Ailment, where: str, what: str, *command: str, remedy: str = "") -> None:
        """Add a finding, without secrets that an error or a URI may contain. For the arguments see `diagnosis`."""
        if len(self.found) < MOST:
            found = diagnosis(ailment, without_secrets(where), without_secrets(what), *command, remedy=remedy)
            self.found.append(found)
        elif (further := ("further findings", f"there are more than {MOST:,}")) not in self.unseen:
            self.unseen.append(further)

    def damaged(self, where: str, e: CorruptData) -> None:
        """Add a finding for a record that cannot be read."""
        self.tell(Ailment.RECORD_DAMAGED, where, e.message)

    def ahead(self, where: str, times: datetime) -> bool:
        """Return true if a time is in the future, and add a finding. The examination may have begun long ago."""
        by = times - self.stores.clock.now()
        if by <= OFF_BY:
            return False
        self.clocks_differ(where, by)
        return True

    def clocks_differ(self, where: str, by: timedelta) -> None:
        """Add the finding that the clocks of two machines differ."""
        way = "later" if by > timedelta(0) else "earlier"
        what = f"was written {abs(by.total_seconds()):,.0f} s {way} than now, by the clock of this machine"
        self.tell(Ailment.CLOCKS_DIFFER, where, what, "timedatectl", "set-ntp", "true")
