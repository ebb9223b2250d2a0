"""The graph of commits in arrays, against the same in plain Python."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.content_hash import HASH
from graveler_core.errors import CorruptData
from graveler_core.model.entities import Commit
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.transfer.commit_graph import CommitGraph, Flags, IdSet, binary_id
from tests.unit.engine.world import START


def id_of(number: int) -> bytes:
    """Ids with zeros at either end too, which arrays of text might take for no part of them."""
    digest = bytearray(HASH(b"%d" % number).digest())
    if number % 3 == 0:
        digest[-2:] = b"\0\0"
    if number % 5 == 0:
        digest[:1] = b"\0"
    return bytes(digest)


def header(parents: Iterable[int], generation: int) -> Commit:
    return Commit(
        committer="",
        message="",
        creation_date=START,
        parents=tuple(CommitId(id_of(parent).hex()) for parent in parents),
        generation=generation,
        nonce=Nonce(""),
        operations="",
    )


History = dict[int, list[int]]
"""Parents of each commit by number; parents have smaller ones."""


@st.composite
def histories(draw: st.DrawFn) -> History:
    count = draw(st.integers(0, 40))
    chance = random.Random(draw(st.integers(0, 1 << 30)))
    return {n: chance.sample(range(n), min(n, chance.choice([0, 1, 1, 1, 2, 3]))) for n in range(count)}


def generations(history: History) -> dict[int, int]:
    found: dict[int, int] = {}
    for n, parents in history.items():
        found[n] = 1 + max((found[parent] for parent in parents), default=0)
    return found


def graph_of(history: History, missing: frozenset[int] = frozenset(), wrong: int | None = None) -> CommitGraph:
    graph, generation = CommitGraph(), generations(history)
    for n in sorted(set(history) - missing, key=id_of):
        graph.add(id_of(n), header(history[n], generation[n] + (n == wrong)))
    return graph


def numbers(graph: CommitGraph, flags: Flags, history: History) -> set[int]:
    by_id = {id_of(n): n for n in history}
    return {by_id[graph.id(int(place))] for place in np.flatnonzero(flags)}


@given(histories(), st.data())
def test_what_leads_to_what(history: History, data: st.DataObject) -> None:
    graph = graph_of(history)
    graph.require_whole()
    heads = data.draw(st.lists(st.sampled_from(sorted(history)), max_size=4)) if history else []
    wanted, ahead = set[int](), list(heads)
    while ahead:
        n = ahead.pop()
        if n not in wanted:
            wanted.add(n)
            ahead += history[n]
    places = graph.places(b"".join(map(id_of, heads)))
    assert numbers(graph, graph.reachable(places), history) == wanted
    assert numbers(graph, graph.complete(), history) == set(history)


@given(histories(), st.data())
def test_what_lacks_an_ancestor(history: History, data: st.DataObject) -> None:
    missing = frozenset(data.draw(st.sets(st.sampled_from(sorted(history)), max_size=3)) if history else ())
    graph = graph_of(history, missing)
    whole = set[int]()
    for n, parents in history.items():
        if n not in missing and whole.issuperset(parents):
            whole.add(n)
    assert numbers(graph, graph.complete(), history) == whole
    if whole != set(history) - missing:
        with pytest.raises(CorruptData, match="has a missing parent"):
            graph.require_whole()


@given(histories().filter(bool), st.data())
def test_a_wrong_generation_is_found(history: History, data: st.DataObject) -> None:
    wrong = data.draw(st.sampled_from(sorted(history)))
    with pytest.raises(CorruptData, match="generation"):
        graph_of(history, wrong=wrong).require_whole()


def test_places() -> None:
    history: History = {n: [] for n in range(200)}
    graph = graph_of(history)
    for n in range(200):
        assert graph.id(int(graph.places(id_of(n))[0])) == id_of(n)
    assert list(graph.places(b"".join(map(id_of, (500, 501))) + b"\xff" * 32 + b"\0" * 32)) == [-1] * 4
    assert list(CommitGraph().places(id_of(1))) == [-1]


@pytest.mark.parametrize("parent", ["", "ab", "AB" * 32, "0" * 63 + "g", "0" * 65, " " + "0" * 63])
def test_what_is_no_commit_id(parent: str) -> None:
    assert binary_id(parent) is None
    bad = header([], 1).model_copy(update={"parents": (CommitId(parent),)})
    with pytest.raises(CorruptData, match="not a commit id"):
        CommitGraph().add(id_of(1), bad)


def test_an_impossible_generation() -> None:
    with pytest.raises(CorruptData, match="impossible generation"):
        CommitGraph().add(id_of(1), header([], 1 << 32))


@given(st.lists(st.integers(0, 3_000), max_size=3_000))
def test_ids_once_and_in_order(some: list[int]) -> None:
    ids = IdSet()
    for n in some:
        ids.add(id_of(n))
    assert [id.tobytes() for id in ids.sorted().astype("V32")] == sorted({id_of(n) for n in some})
