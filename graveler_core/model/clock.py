"""Ports for time and randomness, so that tests and the simulator can control both."""

from __future__ import annotations

import secrets
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

CLOCKS_DIFFER: Final = timedelta(hours=1)
"""Maximum difference of the clocks of processes. A stored time that is later than now by more was written by a wrong
clock (`is_far_ahead`).
"""


class Clock(Protocol):
    """Source of wall-clock time for records and of monotonic time for time budgets. Correctness depends on neither,
    except for the grace periods and the lease of deletions (`gc`).
    """

    def now(self) -> datetime:
        """Return the wall-clock time in UTC, with microseconds."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start. The value never decreases."""

    def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment by both clocks of a process, to find out how old something in its memory is.

    The monotonic clock may stand still while the machine is suspended, and the other clock may be set.
    """

    monotonic: float
    wall: float

    @classmethod
    def of(cls, clock: Clock) -> Instant:
        """Return the present moment."""
        wall = clock.now().timestamp()
        return cls(clock.monotonic(), wall)

    def is_within(self, seconds: float, now: Instant) -> bool:
        """Return true if less than a number of seconds has passed until `now` by either clock, and the wall clock was
        not set back.
        """
        return now.monotonic - self.monotonic < seconds and 0 <= now.wall - self.wall < seconds


class IdSource(Protocol):
    """Source of fresh ids, nonces and seeds."""

    def fresh(self) -> str:
        """Return 32 hexadecimal digits that were never returned before."""

    def seed(self) -> int:
        """Return an unsigned 64-bit number that an adversary cannot guess."""

    def uniform(self) -> float:
        """Return a number in [0, 1), for jitter."""


def is_far_ahead(stored: datetime, now: datetime) -> bool:
    """Return true if a wrong clock has written a stored time: it is later than now by more than `CLOCKS_DIFFER`.

    Without this rule, everything that waits for some time after it would wait until then. A time that protects data
    begins again: the time now is stored instead. A claim is over: see `has_lapsed`.
    """
    return stored - now > CLOCKS_DIFFER


def has_lapsed(begun: datetime, time: timedelta, now: datetime) -> bool:
    """Return true if a claim that began at a stored time has lasted for some time, or if a wrong clock has begun it.

    Others may then take the claim over. Its owner may still be alive, so each step of the owner must be a swap that
    fails after that. A claim that begins later than now by less than the time counts, even if the clock of its owner is
    wrong: it ends before twice the time has passed, and long work can renew it.
    """
    age = now - begun
    return age >= time or (is_far_ahead(begun, now) and -age > time)


def not_before(event: datetime, stored: datetime, now: datetime) -> datetime:
    """Return a stored time, or the time of an event that came before if that is later: then a clock that is behind has
    written the stored time. The event does not count if a clock far ahead has written its time.
    """
    return stored if is_far_ahead(event, now) else max(event, stored)


def to_the_second(span: timedelta) -> timedelta:
    """Return a duration without its fraction of a second."""
    return timedelta(seconds=span // timedelta(seconds=1))


class SystemClock:
    """Clock of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class RandomIds:
    """Ids from the operating system's source of randomness."""

    def fresh(self) -> str:
        return uuid.uuid4().hex

    def seed(self) -> int:
        return secrets.randbits(64)

    def uniform(self) -> float:
        return secrets.randbits(53) / (1 << 53)
