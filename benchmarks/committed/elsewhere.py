"""Small commits of file metadata, and listings of the files of a version, in graveler and in alternatives.

The alternatives do not sync their writes to disk, so they are measured only with the durability `process`. An
alternative that is not installed is skipped, with a message.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from benchmarks.committed.changes import puts
from benchmarks.committed.meter import metered
from benchmarks.committed.others import OTHERS, Other
from benchmarks.core import committed_entries
from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler_core.facade.graveler import Graveler

_COMMITS = 100
_FILES = 10
_SECONDS = 20.0
_LISTINGS = 3


class _Here:
    """Graveler with the interface of the alternatives: files are entries, and a version is a commit."""

    def __init__(self, place: Place, g: Graveler) -> None:
        self._place = place
        self._repo = place.repo(g)
        self._main = self._repo.branch("main")

    def commit(self, numbers: Sequence[int]) -> None:
        self._main.transact(puts(numbers, 1), message="files")

    def version(self) -> Any:
        return self._repo.commit("main").id

    def files(self, version: Any) -> int:
        with self._place.connect() as g:
            batches = self._place.repo(g).at(version).to_arrow()
            return sum(len(batch["key"].to_pylist()) for batch in batches)


@scenario("committed", committed_entries, sizes=(10_000,))
def elsewhere(place: Place) -> Iterator[Measured]:
    """Make 100 commits, or `--commits`, of 10 new files each. The size is the initial number of files."""
    with metered(place) as (g, meter):
        yield from _measured("graveler", _Here(place, g), place, lambda: meter.read().written)
    if "durability=power" in place.store:
        return
    for name, other in OTHERS.items():
        if find_spec(name) is None:
            print(f"elsewhere: {name} is not installed and is skipped", file=sys.stderr)
            continue
        with TemporaryDirectory(prefix=f"{name}-", dir=_beside(place)) as directory:
            there = other(Path(directory))
            there.commit(range(place.size))
            written = partial(_bytes_below, Path(directory))
            yield from _measured(f"{name} {version(name)}", there, place, written)


def _measured(name: str, what: Other, place: Place, written: Callable[[], int]) -> Iterator[Measured]:
    """Measure commits, the bytes they wrote, and listings.

    `written` returns the bytes so far: those passed to the stores, or the size of a directory.
    """
    first, before, begun = what.version(), written(), time.perf_counter()
    taken, number = Clocked(), place.size
    while len(taken.wall) < (place.commits or _COMMITS) and time.perf_counter() - begun < _SECONDS:
        taken += clocked(partial(what.commit, range(number, number + _FILES)))
        number += _FILES
    yield taken.named(f"{name}: commit of {_FILES}")
    yield Measured(f"{name}: written by a commit, mean", "kB", ((written() - before) / 1e3 / len(taken.wall),))
    for which, at, files in [("the end", what.version(), number), ("the beginning", first, place.size)]:
        yield clocked(partial(_listed, what, at, files), _LISTINGS).named(f"{name}: files at {which}")


def _listed(what: Other, version: Any, expected: int) -> None:
    found = what.files(version)
    if found != expected:
        raise AssertionError(f"{found:,} files at {version}, not {expected:,}")


def _beside(place: Place) -> Path | None:
    """Return the parent directory of the repository's data, or `None` if the data is not in local files."""
    return Path(urlsplit(place.data).path).parent if place.data.startswith("file:") else None


def _bytes_below(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
