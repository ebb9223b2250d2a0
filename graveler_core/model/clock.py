"""Time and chance as ports, so that tests and the simulator decide both."""

from __future__ import annotations

import secrets
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time for records, monotonic time for budgets. No correctness rests on either."""

    def now(self) -> datetime:
        """The wall-clock time, in UTC, with microseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class IdSource(Protocol):
    """Where fresh ids, nonces and seeds come from."""

    def fresh(self) -> str:
        """32 hex digits, never drawn before."""
        ...

    def seed(self) -> int:
        """An unsigned 64-bit number that an adversary cannot guess."""
        ...

    def uniform(self) -> float:
        """A number in [0, 1), for jitter."""
        ...


def to_the_second(span: timedelta) -> timedelta:
    """Without what is less than a second."""
    return timedelta(seconds=span // timedelta(seconds=1))


class SystemClock:
    """The machine's clock."""

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
