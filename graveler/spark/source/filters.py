"""Convert Spark's filters on `path` to key intervals. The conversion is exact, so that Spark need not apply them again.

Spark compares strings by their UTF-8 bytes, and so does graveler with paths.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from graveler_core.model.key_intervals import KeyInterval, intersection, ordered, prefix_end

_PATH = ("path",)
_PLANNER = "pyspark.sql.worker.data_source_pushdown_filters"


def may_be_pushed() -> bool:
    """Return `True` if Spark has filters to push down, and accepts a reader that takes them.

    A reader that defines `pushFilters` while `spark.sql.python.filterPushdown.enabled` is off fails the query, and a
    reader cannot read the setting. But if it is on and there are filters, Spark creates the reader in a process with
    another main module. A forked process is recognized by its imported modules, a new process by the name of its
    main module.
    """
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return _PLANNER in sys.modules or getattr(spec, "name", None) == _PLANNER


def accepted(filters: Iterable[Filter]) -> tuple[tuple[KeyInterval, ...], list[Filter]]:
    """Return the keys for which the supported filters hold, as sorted key intervals, and the other filters."""
    kept: tuple[KeyInterval, ...] = (KeyInterval(),)
    rest: list[Filter] = []
    for each in filters:
        found = _intervals(each)
        if found is None:
            rest.append(each)
        else:
            kept = intersection(kept, ordered(found))
    return kept, rest


def _intervals(filter: Filter) -> list[KeyInterval] | None:
    """Return the keys for which a filter on the path holds, or `None` for other filters."""
    if getattr(filter, "attribute", None) != _PATH:
        return None
    if isinstance(filter, IsNotNull):
        return [KeyInterval()]
    if isinstance(filter, In) and all(isinstance(value, str | None) for value in filter.value):
        return [_just(key) for key in sorted({value.encode() for value in filter.value if value is not None})]
    made, value = _INTERVALS.get(type(filter)), getattr(filter, "value", None)
    return [made(value.encode())] if made is not None and isinstance(value, str) else None


def _just(key: bytes) -> KeyInterval:
    return KeyInterval(key, key + b"\0")


_INTERVALS: Mapping[type[Filter], Callable[[bytes], KeyInterval]] = {
    EqualTo: _just,
    EqualNullSafe: _just,
    LessThan: lambda key: KeyInterval(b"", key),
    LessThanOrEqual: lambda key: KeyInterval(b"", key + b"\0"),
    GreaterThan: lambda key: KeyInterval(key + b"\0"),
    GreaterThanOrEqual: KeyInterval,
    StringStartsWith: lambda key: KeyInterval(key, prefix_end(key)),
}
