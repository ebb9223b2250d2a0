"""Bounds of listings: which of the sorted names or paths a listing contains."""

from __future__ import annotations

from dataclasses import dataclass

from graveler_core.model.key_intervals import KeyInterval, key_interval
from graveler_core.model.names import prefix_key


@dataclass(frozen=True, slots=True)
class Bounds:
    """Names or paths that begin with `prefix`, from `start`, inclusive, to `end`, exclusive, and greater than `after`.

    They are compared as UTF-8 bytes. An `end` that is not greater than `start` leaves nothing, and is not an error, as
    in a slice of a list.

    Raises:
        InvalidInput: A text is not valid in a path.
    """

    prefix: str = ""
    after: str = ""
    """Item at which an earlier part of the listing ended; "" for the beginning."""
    start: str = ""
    end: str | None = None
    """`None`: no upper limit."""

    def __post_init__(self) -> None:
        for text in (self.prefix, self.after, self.start, "" if self.end is None else self.end):
            prefix_key(text)

    def interval(self) -> KeyInterval:
        """Return the bounds as a key interval. If it is empty, its start equals its end."""
        after, end = prefix_key(self.after), None if self.end is None else prefix_key(self.end)
        first = max(prefix_key(self.start), after + b"\0" if after else b"")
        start, last = key_interval(prefix_key(self.prefix), first, end)
        return KeyInterval(start if last is None else min(start, last), last)


ALL = Bounds()
"""Bounds of a listing without limits."""
