"""One examination: what is looked at, for how long, and what was found so far.

What comes quickly is looked at first, for all repositories; what lists storage namespaces later; what reads all that is
stored last, and only where it was asked for. So short times show what is most likely.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from graveler_core.diagnostics.budget import Budget, SpentError
from graveler_core.diagnostics.doctor.diagnosis import Ailment, Diagnosis, Severity
from graveler_core.diagnostics.plan import DoctorPlan
from graveler_core.errors import CorruptData, GravelerError
from graveler_core.stores import Stores
from graveler_core.telemetry.secrets import without_secrets

MOST = 1_000
"""So many findings are told."""
OFF_BY = timedelta(minutes=1)
"""Clocks may differ by so much."""
DAY = timedelta(days=1)
"""What a cleaner takes that runs every day is not told before it is older by this."""


@dataclass(slots=True)
class Examination:
    """What is looked at, and what was found."""

    stores: Stores
    plan: DoctorPlan
    budget: Budget
    now: datetime
    found: list[Diagnosis] = field(default_factory=list)
    unseen: list[tuple[str, str]] = field(default_factory=list)

    @contextmanager
    def looking(self, what: str) -> Iterator[None]:
        """Note what could not be seen, for a failure or for want of time, and go on with the rest."""
        try:
            yield
        except SpentError:
            self.unseen.append((what, "no time was left"))
        except GravelerError as e:
            self.unseen.append((what, without_secrets(e.message)))

    def tell(self, found: Diagnosis) -> None:
        """Note a finding, without secrets that an error or a URI may have brought."""
        if len(self.found) < MOST:
            self.found.append(replace(found, where=without_secrets(found.where), what=without_secrets(found.what)))
        elif (further := ("further findings", f"there are more than {MOST:,}")) not in self.unseen:
            self.unseen.append(further)

    def damaged(self, where: str, e: CorruptData) -> None:
        """Note a record that cannot be read."""
        self.tell(
            Diagnosis(
                Ailment.RECORD_DAMAGED,
                Severity.CRITICAL,
                where,
                e.message,
                "nothing that needs the record works, and no collection deletes anything beside it",
                "restore this row of the key-value store from a backup, or the repository from a dump",
            )
        )

    def ahead(self, where: str, times: datetime) -> bool:
        """Whether something was written later than now, which is told."""
        if times - self.now <= OFF_BY:
            return False
        self.tell(clocks_differ(where, times - self.now))
        return True


def clocks_differ(where: str, by: timedelta) -> Diagnosis:
    """Two machines do not agree on the time."""
    return Diagnosis(
        Ailment.CLOCKS_DIFFER,
        Severity.WARNING,
        where,
        f"was written {abs(by.total_seconds()):,.0f} s {'later' if by > timedelta(0) else 'earlier'} than now, by the"
        " clock of this machine",
        "what waits for a time (cleaning, collections, restorations) comes too early or too late",
        "have all machines that use the store, and its server, set their clocks by the network",
        ("timedatectl", "set-ntp", "true"),
    )
