"""Commits in an order in which they can be made; those that cannot, told once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.transfer.migration.lineage import ordered

Drawn = list[list[int]]


def told(parents: dict[str, list[str]], known: set[str] | None = None) -> tuple[list[str], dict[str, str]]:
    broken = dict[str, str]()

    def tell(id: str, why: str) -> None:
        assert id not in broken
        broken[id] = why

    return ordered(parents, known if known is not None else set(parents), tell), broken


def test_parents_come_first() -> None:
    assert told({"a": ["c"], "b": ["a", "c"], "c": []}) == (["c", "a", "b"], {})
    assert told({}) == ([], {})
    assert told({"b": [], "a": [], "c": ["b", "b"]}) == (["a", "b", "c"], {})


def test_a_parent_that_is_not_there() -> None:
    """Descendants are left out, and not told."""
    found, broken = told({"a": ["x"], "b": ["a"], "c": []})
    assert found == ["c"]
    assert broken == {"a": "its parent x is missing"}


def test_a_parent_that_is_broken_is_told_elsewhere() -> None:
    assert told({"a": ["x"], "b": ["a"]}, {"a", "b", "x"}) == ([], {})


def test_circles() -> None:
    found, broken = told({"a": ["b"], "b": ["a"], "c": ["b"], "d": ["d"], "e": []})
    assert found == ["e"]
    assert broken.keys() == {"a", "b", "c", "d"}
    found, broken = told({"a": ["b", "x"], "b": ["a"]})
    assert broken == {"a": "its parent x is missing"}


@given(st.lists(st.lists(st.integers(0, 12), max_size=3), max_size=10))
def test_any_graph(drawn: Drawn) -> None:
    """Whatever has all its ancestors, and no circle among them, has its place; what is left out has a reason."""
    parents = {str(number): [str(parent) for parent in named] for number, named in enumerate(drawn)}
    found, broken = told(parents)
    places = {id: place for place, id in enumerate(found)}
    assert len(places) == len(found)
    assert all(places[parent] < places[id] for id in found for parent in parents[id])
    left = parents.keys() - places.keys()
    assert all(any(parent not in places for parent in parents[id]) for id in left)
    assert broken.keys() <= left
    assert bool(broken) == bool(left)


def test_a_long_line() -> None:
    """No recursion."""
    parents = {f"{number:06}": [f"{number - 1:06}"] if number else [] for number in range(50_000)}
    assert told(dict(reversed(parents.items())))[0] == sorted(parents)
