"""Dump of the refs and commits of a repository into a file, and restore from it."""

from __future__ import annotations

from collections.abc import Iterator

import graveler_core as graveler
from benchmarks.lifecycle.copying import beside
from benchmarks.lifecycle.stock import commits_of, filled_repository
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.transfer.dump import Dumped


@scenario("lifecycle", filled_repository, counts="staged records")
def dump_and_restore(place: Place) -> Iterator[Measured]:
    """Dump a repository, and restore it in another key-value store with the same storage namespace.

    A dump does not contain staged changes.
    """
    dumped = list[Dumped]()
    what = f"{commits_of(place):,} commits"
    with place.connect() as g:
        repo = place.repo(g)
        yield clocked(lambda: dumped.append(repo.dump_refs(f"{place.data}.dump"))).named(f"dump {what}")
        yield Measured(f"dump of {what}", "MB", (dumped[0].size / 1e6,))
    with graveler.connect(beside(place)) as there:
        bare = there.create_bare_repository(place.repository, storage_namespace=place.data, adopt=True)
        yield clocked(lambda: bare.restore_refs(dumped[0].uri)).named(f"restore {what}")
