"""Key ranges as conditions of a query.

A condition on the sort key is one comparison or BETWEEN, which includes both bounds, and no bound may be longer than a
sort key. The range of a scan includes its lower bound and excludes the upper one, and both may be longer.

A bound of more than 1,024 bytes is cut to 1,024. No key lies between the cut bound and the whole one, except the cut
bound itself, which is less than the whole bound. So a range excludes a lower bound that was cut, and includes an upper
bound that was cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graveler_core.kv.limits import MAX_KEY
from graveler_core.kv.paging import KeyBounds


@dataclass(frozen=True, slots=True)
class QueryRange:
    """Condition of a query, and the row to leave out."""

    request: dict[str, Any]
    """Arguments of the query."""
    excluded: bytes | None
    """Key at the end that the condition includes although the range does not, or `None`."""


def whole_partition(partition: bytes) -> dict[str, Any]:
    """Return the arguments of the query for all rows of a partition."""
    return {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"B": partition}}}


def query_range(partition: bytes, keys: KeyBounds) -> QueryRange | None:
    """Return the query for a key range, or `None` if no key can be in it.

    Args:
        partition: The partition.
        keys: The key range. Its upper bound is greater than its lower bound.
    """
    lower, lower_is_cut = keys.lower[:MAX_KEY], len(keys.lower) > MAX_KEY
    upper, upper_is_cut = (None, False) if keys.upper is None else (keys.upper[:MAX_KEY], len(keys.upper) > MAX_KEY)
    if lower_is_cut and lower == upper:
        return None
    if not lower:
        condition = "" if upper is None else " AND k <= :u" if upper_is_cut else " AND k < :u"
    else:
        condition = " AND k >= :l" if upper is None else " AND k BETWEEN :l AND :u"
    request = whole_partition(partition)
    request["KeyConditionExpression"] += condition
    values = request["ExpressionAttributeValues"]
    if lower:
        values[":l"] = {"B": lower}
    if upper is not None:
        values[":u"] = {"B": upper}
    if lower_is_cut:
        request["ExclusiveStartKey"] = {"p": {"B": partition}, "k": {"B": lower}}
    return QueryRange(request, None if upper_is_cut else upper)
