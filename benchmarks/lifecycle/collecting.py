"""Collection of content: a large commit, many small ones, and a tenth of the objects without a name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import pyarrow as pa

from benchmarks import entries
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.gc.collected import Collected
from graveler_core.model.entry import Entry

_COMMITS = 1_000
_UNNAMED = 10
"""One of so many objects has no name."""
_AT_ONCE = timedelta(0)


def stored_content(place: Place) -> None:
    """Create one empty object for each entry, and a tenth as many without a name, and commit the entries."""
    with place.connect() as g:
        main = place.create(g).branch("main")
        blobs = main._stores.blobs.at(place.data)
        for number in range(place.size + place.size // _UNNAMED):
            blobs.create(f"data/{number:032x}", b"")
        keys = entries.keys(np.arange(place.size))
        addresses = pa.array([f"data/{number:032x}" for number in range(place.size)])
        main.stage_many(pa.table({"key": keys, "address": addresses, "size": np.zeros(place.size, np.int64)}))
        main.commit("all")
        for number in range(place.commits or _COMMITS):
            main.stage(entries.key(number), Entry(f"data/{number:032x}", 1))
            main.commit(f"change {number}")


@scenario("lifecycle", stored_content, sizes=(100_000, 1_000_000), counts="objects")
def collect(place: Place) -> Iterator[Measured]:
    """Find the objects without a name, and then condemn and delete them."""
    done: list[Collected] = []
    what = f"of {place.size:,} objects and {place.commits or _COMMITS:,} commits"
    with place.connect() as g:
        repo = place.repo(g)
        found = clocked(lambda: done.append(repo.collect(grace=_AT_ONCE, dry_run=True, alone=True)))
        yield found.named(f"find the objects without a name {what}")
        taken = clocked(lambda: done.append(repo.collect(grace=_AT_ONCE, alone=True)))
        yield taken.named(f"condemn and delete a tenth {what}")
    if [each.condemned for each in done] != [place.size // _UNNAMED] * 2 or done[1].deleted != done[1].condemned:
        raise RuntimeError(f"collected too much or too little: {done}")
