"""Key ranges as conditions of DynamoDB: each selects exactly the keys of the range."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.kv.backends.dynamodb.ranges import query_range
from graveler_core.kv.limits import MAX_KEY
from graveler_core.kv.paging import KeyBounds

STEM = b"k" * (MAX_KEY - 1)
KEYS = st.one_of(
    st.binary(min_size=1, max_size=3),
    st.binary(max_size=1).map(lambda end: STEM + end),
    st.just(b"\xff" * MAX_KEY),
    st.just(b"\x00"),
)
BOUNDS = st.one_of(st.just(b""), KEYS, st.tuples(KEYS, st.binary(max_size=3)).map(lambda pair: pair[0] + pair[1]))


def selected(request: dict[str, Any], key: bytes) -> bool:
    """Evaluate the condition as the service does, which refuses bounds that are too long, and a range in disorder."""
    values = {name: value["B"] for name, value in request["ExpressionAttributeValues"].items()}
    lower, upper = values.get(":l"), values.get(":u")
    assert all(0 < len(bound) <= MAX_KEY for bound in (lower, upper) if bound is not None)
    condition = request["KeyConditionExpression"].removeprefix("p = :p")
    start = request.get("ExclusiveStartKey", {}).get("k", {}).get("B")
    if lower is not None and upper is not None:
        assert lower <= upper
    if start is not None and start >= key:
        return False
    match condition:
        case "":
            return True
        case " AND k >= :l":
            return lower is not None and key >= lower
        case " AND k BETWEEN :l AND :u":
            return lower is not None and upper is not None and lower <= key <= upper
        case " AND k < :u":
            return upper is not None and key < upper
        case " AND k <= :u":
            return upper is not None and key <= upper
    raise AssertionError(condition)


@given(BOUNDS, st.one_of(st.none(), BOUNDS), st.lists(KEYS, max_size=20))
def test_a_condition_selects_the_keys_of_its_range(lower: bytes, upper: bytes | None, keys: list[bytes]) -> None:
    bounds = KeyBounds(lower, upper)
    if bounds.is_empty():
        return
    wanted = query_range(b"p", bounds)
    for key in [*keys, lower[:MAX_KEY], (upper or b"x")[:MAX_KEY]]:
        if key:
            inside = lower <= key and (upper is None or key < upper)
            found = wanted is not None and selected(wanted.request, key) and key != wanted.excluded
            assert found == inside, (lower, upper, key)
