"""Predicates and the error of a lost swap."""

from __future__ import annotations

import pickle

import pytest

from graveler_core.kv.store import EXISTS, Predicate, predicate_failed


def test_exists_is_no_value() -> None:
    assert Predicate(b"") != EXISTS
    assert pickle.loads(pickle.dumps(EXISTS)) == EXISTS


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [(None, "to be absent"), (EXISTS, "to be present"), (Predicate(b"secret value"), "unchanged since it was read")],
)
def test_a_lost_swap_says_what_was_expected(predicate: Predicate | None, expected: str) -> None:
    error = predicate_failed(b"p", b"k", predicate)
    assert error.message == f"key b'k' of partition b'p' was expected {expected}"
    assert error.details == {"partition": b"p", "key": b"k"}
