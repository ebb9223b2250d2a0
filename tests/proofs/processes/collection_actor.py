"""One process of those that store, stage, commit, read and collect content on the branch `main` of one repository.

It goes on until the file `stop` appears, its parent goes, or it is killed. The clock goes ahead by halves of the grace
period, and only while nobody is within a call. The age of an object is that by this clock.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import Any, Final

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.blobs.port import BlobInfo
from graveler_core.errors import Conflict, Kind, NotFound, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.registry import open_store
from graveler_core.model.address import Namespace
from graveler_core.model.entry import AddressType, Entry
from graveler_core.stores import RegisterCache, Stores
from tests.proofs.processes.actor import Orders, commit, is_stopped
from tests.proofs.processes.fast_clock import FastClock, fast_clock
from tests.proofs.processes.journal import Journal

PATHS: Final = 5
"""Paths that all writers write."""
GRACE: Final = timedelta(days=1)
OPTIONS: Final = "options.json"
"""File with the place of the objects, and with the options of their store."""


class AgedBlobs:
    """Objects whose ages are those by the clock of the run."""

    def __init__(self, inner: Any, clock: FastClock) -> None:
        self._inner = inner
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        """The objects, with these ages."""
        return (self._aged(blob) for blob in self._inner.list(prefix, after))

    def head(self, address: str) -> BlobInfo | None:
        """One object, with this age."""
        found = self._inner.head(address)
        return None if found is None else self._aged(found)

    def _aged(self, blob: BlobInfo) -> BlobInfo:
        return replace(blob, mtime=self._clock.at(blob.mtime))


class AgedPlaces:
    """All namespaces, with objects of such ages."""

    def __init__(self, inner: OpenedBlobs, clock: FastClock) -> None:
        self._inner = inner
        self._clock = clock

    def at(self, namespace: str) -> AgedBlobs:
        """The objects of a namespace."""
        return AgedBlobs(self._inner.at(namespace), self._clock)

    def foreign(self, place: Namespace) -> Any:
        """Objects elsewhere."""
        return self._inner.foreign(place)

    def close(self) -> None:
        """Close all."""
        self._inner.close()


@dataclass(frozen=True)
class Life:
    """A life of a process."""

    repository: Repository
    journal: Journal
    chance: random.Random
    known: list[Entry]
    """Entries that it has seen, whose content may be gone."""


def opened(url: str, home: Path) -> Stores:
    """The store, with the clock of the run."""
    clock = fast_clock(home / "clock")
    options = json.loads((home / OPTIONS).read_text())["options"]
    blobs = AgedPlaces(OpenedBlobs(options, durable=False), clock)
    registers = RegisterCache(now=clock.wall)
    return Stores(kv=open_store(url), blobs=blobs, clock=clock, registers=registers, wall=clock.wall)


def live(orders: Orders) -> None:
    """What a process does with its life."""
    home = orders.directory.parent
    journal, clock = Journal(orders.directory, orders.name), fast_clock(home / "clock")
    verbs: dict[str, Callable[[Life], None]] = {"w": write, "u": upload, "g": collect, "r": read}
    with closing(opened(orders.url, home)) as stores:
        life = Life(Graveler(stores).repository("repo"), journal, random.Random(f"{orders.name} {journal.number}"), [])
        while not is_stopped(orders):
            sleep(life.chance.uniform(0, 0.05))
            with clock.call():
                _tried(life, verbs.get(orders.name[0], _commit))


def _tried(life: Life, verb: Callable[[Life], None]) -> None:
    try:
        verb(life)
    except OutcomeUnknown as error:
        life.journal.end("unknown", repr(error))
    except (SlowDown, Unavailable, Conflict) as error:
        life.journal.end("refused", repr(error))
    except Exception as error:
        life.journal.end("crashed", repr(error))
        raise


def _commit(life: Life) -> None:
    commit(life.repository.branch("main"), life.journal)


def write(life: Life) -> None:
    """Store content and stage it in one call, remove a path, or reset all."""
    journal, main = life.journal, life.repository.branch("main")
    path, data = _path(life), f"{journal.actor}:{journal.number}".encode()
    if life.chance.random() < 0.15:
        journal.begin("remove", {path: None})
        main.remove(path)
    else:
        journal.begin("put", {path: f"sha256:{hashlib.sha256(data).hexdigest()}"})
        life.known.append(main.put(path, data))
    journal.end("done")


def upload(life: Life) -> None:
    """Store content for later, or stage what was seen some time ago: by one of two spellings of its address."""
    journal, main = life.journal, life.repository.branch("main")
    if len(life.known) < 3 or life.chance.random() < 0.4:
        journal.begin("upload", {})
        life.known.append(main.upload(_path(life), f"{journal.actor}:{journal.number}".encode()))
        journal.end("done")
        return
    path, entry = _path(life), life.chance.choice(life.known[-6:])
    if life.chance.random() < 0.3:
        entry = next(iter(main.list("shared/")), entry)
    if entry.address_type is AddressType.RELATIVE and life.chance.random() < 0.3:
        namespace = life.repository.storage_namespace
        entry = replace(entry, address=f"{namespace}/{entry.address}", address_type=AddressType.FULL)
    journal.begin("stage", {path: entry.checksum})
    main.stage(path, entry)
    journal.end("done")


def collect(life: Life) -> None:
    """One run of a collection."""
    life.journal.begin("collect", {})
    done = life.repository.collect(grace=GRACE)
    life.journal.end("done", str(done.deleted))


def read(life: Life) -> None:
    """Read the content of a path. It is checked against the checksum of the entry."""
    journal, main, path = life.journal, life.repository.branch("main"), _path(life)
    journal.begin("get", {})
    try:
        data = main.read(path)
    except NotFound as error:
        if error.kind is not Kind.PathNotFound:
            raise
        journal.end("done", path, {path: None})
    else:
        journal.end("done", path, {path: f"sha256:{hashlib.sha256(data).hexdigest()}"})


def _path(life: Life) -> str:
    return f"shared/{life.chance.randrange(PATHS)}"
