"""Threads: results in order, errors where they belong, and work ahead that ends when its caller leaves."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from graveler_core.stores import Threads


def makers(names: list[str], items: int) -> Iterator[int]:
    for item in range(items):
        names.append(threading.current_thread().name)
        yield item


@pytest.mark.parametrize("items", [0, 1, 2])
def test_few_items_are_made_where_they_are_used(items: int) -> None:
    names: list[str] = []
    assert list(Threads().ahead(makers(names, items))) == list(range(items))
    assert set(names) <= {threading.current_thread().name}


def test_more_items_are_made_ahead_by_one_thread() -> None:
    names: list[str] = []
    assert list(Threads().ahead(makers(names, 50))) == list(range(50))
    assert len(set(names[2:])) == 1
    assert threading.current_thread().name not in names[2:]


def test_only_a_few_are_made_ahead_and_none_after_the_caller_left() -> None:
    names: list[str] = []
    taken = Threads().ahead(makers(names, 50))
    assert [next(taken) for _ in range(5)] == [0, 1, 2, 3, 4]
    taken.close()  # type: ignore[attr-defined]
    assert 5 <= len(names) <= 8
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("graveler-ahead")]


@pytest.mark.parametrize("good", [0, 1, 2, 7])
def test_an_error_comes_after_the_items_before_it(good: int) -> None:
    def items() -> Iterator[int]:
        yield from range(good)
        raise ZeroDivisionError("planted")

    seen: list[int] = []
    with pytest.raises(ZeroDivisionError, match="planted"):
        seen.extend(Threads().ahead(items()))
    assert seen == list(range(good))
