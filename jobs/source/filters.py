"""Filters on `path` that Spark hands over, as key spans: exactly what they say, so that Spark need not look again.

Spark compares texts by their bytes in UTF-8, and so does graveler compare paths.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

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

from graveler_core.committed.portions import Span
from graveler_core.segments.sorted_keys import prefix_end

_PATH = ("path",)
_PLANNER = "pyspark.sql.worker.data_source_pushdown_filters"


def may_be_pushed() -> bool:
    """Whether Spark has filters to hand over, and would take it well.

    A reader that defines `pushFilters` while `spark.sql.python.filterPushdown.enabled` is off fails the query, and a
    reader is not told of the setting. But with it, and filters at hand, Spark makes the reader in a process of another
    main module, which is known to a fork by what is imported, and to a process of its own by its name.
    """
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return _PLANNER in sys.modules or getattr(spec, "name", None) == _PLANNER


def narrowed(spans: Sequence[Span], filters: Iterable[Filter]) -> tuple[tuple[Span, ...], list[Filter]]:
    """Sorted spans without the keys that filters exclude, and the filters that were not understood."""
    kept, rest = tuple(spans), list[Filter]()
    for each in filters:
        said = _spans(each)
        if said is None:
            rest.append(each)
        else:
            kept = _common(kept, said)
    return kept, rest


def _spans(filter: Filter) -> list[Span] | None:
    """The keys for which a filter on the path holds; None for other filters."""
    if getattr(filter, "attribute", None) != _PATH:
        return None
    if isinstance(filter, IsNotNull):
        return [(b"", None)]
    if isinstance(filter, In) and all(isinstance(value, str | None) for value in filter.value):
        return [_just(key) for key in sorted({value.encode() for value in filter.value if value is not None})]
    said, value = _SPANS.get(type(filter)), getattr(filter, "value", None)
    return [said(value.encode())] if said is not None and isinstance(value, str) else None


def _just(key: bytes) -> Span:
    return key, key + b"\0"


_SPANS: Mapping[type[Filter], Callable[[bytes], Span]] = {
    EqualTo: _just,
    EqualNullSafe: _just,
    LessThan: lambda key: (b"", key),
    LessThanOrEqual: lambda key: (b"", key + b"\0"),
    GreaterThan: lambda key: (key + b"\0", None),
    GreaterThanOrEqual: lambda key: (key, None),
    StringStartsWith: lambda key: (key, prefix_end(key)),
}


def _common(left: Sequence[Span], right: Sequence[Span]) -> tuple[Span, ...]:
    """The keys that both sorted lists of spans hold."""
    found: list[Span] = []
    a = b = 0
    while a < len(left) and b < len(right):
        (first, end), (other, other_end) = left[a], right[b]
        start, last = (
            max(first, other),
            end if other_end is None or (end is not None and end < other_end) else other_end,
        )
        if last is None or start < last:
            found.append((start, last))
        if last == end:
            a += 1
        else:
            b += 1
    return tuple(found)
