"""Commits that are no first parent, against sets; in bounded memory, in a counted number of scans."""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.records import encode, identify
from graveler_core.errors import CorruptData
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import Store
from graveler_core.model.bounds import Bounds
from graveler_core.model.entities import Commit
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.objects.commits import scan_headers
from graveler_core.records import layout as keys
from graveler_core.refs import childless
from graveler_core.refs.childless import not_first_parents
from graveler_core.testing.counting_store import Counting
from tests.unit.records.samples import REPOSITORY, SINCE


def stored(kv: Store, number: int, parents: list[CommitId]) -> CommitId:
    header = Commit(
        committer="",
        message="",
        creation_date=SINCE,
        parents=tuple(parents),
        generation=1,
        nonce=Nonce(str(number)),
        operations="",
    )
    where = keys.commit(REPOSITORY, identify(header))
    kv.set(where.partition, where.key, encode(header))
    return identify(header)


def history(kv: Store, parents: list[list[int]]) -> tuple[list[CommitId], set[CommitId]]:
    """Commits by number, and those of them that are first parents."""
    ids: list[CommitId] = []
    first: set[CommitId] = set()
    for number, above in enumerate(parents):
        found = [ids[parent % number] for parent in above] if number else []
        first.update(found[:1])
        ids.append(stored(kv, number, found))
    return ids, first


HISTORIES = st.lists(st.lists(st.integers(0, 100), max_size=3), max_size=30)


@given(HISTORIES, st.integers(1, 40), st.integers(0, 30), st.sampled_from([1, 3, 1_000]))
def test_as_sets_say(parents: list[list[int]], held: int, start: int, at_once: int) -> None:
    kv = open_memory("memory://")
    ids, first = history(kv, parents)
    after = sorted(ids)[start] if start < len(ids) else ""
    for begin, end in product(("", after), (None, after)):
        wanted = sorted(id for id in ids if id not in first and id > begin and (end is None or id < end))
        with patch.object(childless, "_AT_ONCE", at_once):
            found = [id for id, _ in not_first_parents(kv, REPOSITORY, Bounds(after=begin, end=end), held=held)]
        assert found == wanted
        assert [id for id, _ in scan_headers(kv, REPOSITORY, Bounds(after=begin))] == sorted(
            id for id in ids if id > begin
        )


def test_one_scan_for_what_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 commits in a line: 99 first parents, ten at a time; what is merged at once is bounded too."""
    monkeypatch.setattr(childless, "_MERGED", 7)
    sizes: list[int] = []
    merge = childless._Smallest.merge

    def watched(self: childless._Smallest) -> None:
        merge(self)
        sizes.append(len(self._kept))

    monkeypatch.setattr(childless._Smallest, "merge", watched)
    kv = Counting(open_memory("memory://"))
    ids, _ = history(kv, [[number - 1] for number in range(100)])
    for held, scans in ((10, 10), (50, 2), (99, 1), (1_000, 1)):
        kv.reset()
        del sizes[:]
        assert [id for id, _ in not_first_parents(kv, REPOSITORY, held=held)] == [ids[-1]]
        assert kv.counts["scan"] == 2 * scans
        assert max(sizes) <= held


def test_parents_outside_the_bounds_need_no_scan() -> None:
    """100 commits in a line, ten first parents at a time: only the parents within the bounds count."""
    kv = Counting(open_memory("memory://"))
    ids, _ = history(kv, [[number - 1] for number in range(100)])
    parents = sorted(ids[:-1])
    for within, scans in (
        (Bounds(end=parents[10]), 1),
        (Bounds(end=parents[11]), 2),
        (Bounds(end=parents[20]), 2),
        (Bounds(start=parents[40], end=parents[50]), 1),
        (Bounds(after=parents[40], end=parents[51]), 1),
        (Bounds(start=parents[95]), 1),
        (Bounds(end="0"), 1),
        (Bounds(start=parents[1], end=parents[1]), 0),
        (Bounds(start=parents[2], end=parents[1]), 0),
    ):
        kv.reset()
        found = [id for id, _ in not_first_parents(kv, REPOSITORY, within, held=10)]
        ends = within.end is None or ids[-1] < within.end
        assert found == ([ids[-1]] if ends and ids[-1] > within.after and ids[-1] >= within.start else []), within
        assert kv.counts["scan"] == 2 * scans, within


def test_a_prefix_is_a_bound_of_the_parents() -> None:
    kv = Counting(open_memory("memory://"))
    ids, first = history(kv, [[number - 1] for number in range(100)])
    prefix = ids[-1][0]
    kv.reset()
    within = sum(id.startswith(prefix) for id in first)
    assert 0 < within < len(first)
    assert [id for id, _ in not_first_parents(kv, REPOSITORY, Bounds(prefix), held=within)] == [ids[-1]]
    assert kv.counts["scan"] == 2


def test_zero_bytes_at_the_end_of_ids() -> None:
    """Numpy's bytes end at the last byte that is not zero."""
    kept = childless._Smallest(2)
    ids = [CommitId("00" * 31 + end) for end in ("00", "01", "ff")] + [CommitId("ab" * 30 + "0000")]
    for id in ids:
        kept.add(id, id)
    kept.merge()
    assert (kept.bound, kept.holds(ids)) == (ids[1], [True, True, False, False])


def test_nothing_is_read_before_it_is_asked_for() -> None:
    kv = Counting(open_memory("memory://"))
    history(kv, [[], [0]])
    kv.reset()
    not_first_parents(kv, REPOSITORY)
    scan_headers(kv, REPOSITORY)
    assert kv.round_trips == 0


def test_damage_is_named() -> None:
    kv = open_memory("memory://")
    (id,), _ = history(kv, [[]])
    where = keys.commit(REPOSITORY, id)
    found = kv.get(where.partition, where.key)
    assert found is not None
    kv.set(where.partition, where.key, found.value + b" ")
    for read in (scan_headers, not_first_parents):
        with pytest.raises(CorruptData, match=id):
            list(read(kv, REPOSITORY))
    kv.delete(where.partition, where.key)
    odd = stored(kv, 1, [CommitId("x")])
    with pytest.raises(CorruptData, match=f"{odd}: its parent 'x'"):
        list(not_first_parents(kv, REPOSITORY))
