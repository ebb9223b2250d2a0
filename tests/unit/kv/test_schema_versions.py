"""Tests of the statements that lead a store from one version of its schema to the next."""

from __future__ import annotations

import pytest

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.schema_versions import newest, pending

STEPS = (("a", "b"), ("c",))


def test_the_newest_version() -> None:
    assert newest(()) == 1
    assert newest(STEPS) == 3


@pytest.mark.parametrize(("found", "expected"), [(1, ["a", "b", "c"]), (2, ["c"]), (3, [])])
def test_statements_that_are_left(found: int, expected: list[str]) -> None:
    assert pending(found, STEPS, "here") == expected


def test_a_newer_version() -> None:
    with pytest.raises(Unavailable, match=r"here has schema version 4.* supports at most 3") as caught:
        pending(4, STEPS, "here")
    assert caught.value.kind is Kind.NewerSchema
    assert caught.value.details == {"store": "here", "version": 4}
