"""Clocks of servers, according to their answers."""

from __future__ import annotations

from email.utils import parsedate_to_datetime


def clock_ahead(date: str | None, before: float, after: float) -> float | None:
    """Return how much the clock of a server is ahead, in seconds, or `None` if the server does not tell its time.

    Args:
        date: Header `Date` of an answer, which has a resolution of one second.
        before: Time before the request, in seconds since 1970 by the clock of this machine.
        after: Time after the request, by the same clock.
    """
    if not date:
        return None
    clock = parsedate_to_datetime(date).timestamp()
    return 0.0 if int(before) <= clock <= after else round(clock - (before + after) / 2, 3)


def instant_ahead(clock: float, before: float, after: float) -> float:
    """Return how much the clock of a server, which has a resolution of a millisecond, is ahead, in seconds.

    Args:
        clock: Time of the server, in seconds since 1970.
        before: Time before the request, in seconds since 1970 by the clock of this machine.
        after: Time after the request, by the same clock.
    """
    return 0.0 if before - 0.001 <= clock <= after else round(clock - (before + after) / 2, 3)
