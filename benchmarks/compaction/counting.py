"""Cost of the write counters: the same writes with and without counters, alternately."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from unittest.mock import patch

from benchmarks.beside import new_entry
from benchmarks.core import empty_repository
from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler_core.engine.protocol import write_counters as counting
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.staging.write_counts import WriteCounts
from graveler_core.testing.counting_store import Counting

_CALLS = 10_000
"""Maximum number of writes for which the calls of the key-value store are counted."""
_WAYS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "counted": nullcontext,
    "not counted": lambda: patch.object(counting, "count", lambda *write: None),
}


@scenario("compaction", empty_repository, sizes=(100_000,), counts="writes")
def count_writes(place: Place) -> Iterator[Measured]:
    """Stage single entries on one branch, alternately with and without counters.

    A turn has as many writes as there are between two updates of the stored counter. Each pair of turns gives one
    ratio, so that slow changes of the machine's speed cancel out.
    """
    turn = max(1, min(WriteCounts().every, place.size // 2))
    taken: dict[str, list[Clocked]] = {way: [] for way in _WAYS}
    with place.connect() as g:
        main = place.repo(g).branch("main")
        _stage(main, turn)
        for number in range(max(1, place.size // turn // 2)):
            for way in list(_WAYS)[:: -1 if number % 2 else 1]:
                with _WAYS[way]():
                    taken[way].append(clocked(lambda: _stage(main, turn)))
    for way, turns in taken.items():
        wall, cpu = (tuple(getattr(each, of)[0] / turn for each in turns) for of in ("wall", "cpu"))
        yield Clocked(wall, cpu).named(f"stage one, {way}")
    for of, unit in (("wall", "times"), ("cpu", "times, CPU")):
        pairs = zip(*([getattr(each, of)[0] for each in taken[way]] for way in _WAYS), strict=True)
        yield Measured(
            "stage one, counted relative to not counted", unit, tuple(counted / bare for counted, bare in pairs if bare)
        )
    for way in _WAYS:
        yield Measured(
            f"calls of the key-value store, {way}", "per write", (_calls(place, way, min(place.size, _CALLS)),)
        )


def _stage(branch: Branch, writes: int) -> None:
    for number in range(writes):
        branch.stage(*new_entry("writer", number))


def _calls(place: Place, way: str, writes: int) -> float:
    with place.connect() as opened:
        stores = opened._stores
        kv = Counting(stores.kv)
        main = place.repo(Graveler(replace(stores, kv=kv))).branch("main")
        _stage(main, 1)  # fills the caches
        kv.reset()
        with _WAYS[way]():
            _stage(main, writes)
        return kv.round_trips / writes
