"""A clock that a test moves."""

from __future__ import annotations

from datetime import UTC, datetime


class StillClock:
    """Time passes only in sleep, and stands while `queueing`, as it does for callers that come at the same moment."""

    def __init__(self) -> None:
        self.time = 100.0
        self.slept: list[float] = []
        self.queueing = False

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += 0 if self.queueing else seconds
