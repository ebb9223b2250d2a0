"""One process of the crowd: a writer, a committer, a reader or a keeper on the branch `main` of the repository `repo`.

It goes on until the file `stop` appears, its parent goes, or it is killed. Its next life takes up the count of its
operations, and a committer also the commit that it was about: under the same idempotency key.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import sleep
from typing import Final

import pyarrow as pa

from graveler_core.errors import Conflict, Kind, NoChanges, NotFound, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.model.entry import Entry
from graveler_core.wiring.handles import connect
from tests.proofs.processes.journal import Journal

OWN_PATHS: Final = 6
"""Paths of each writer's own; the writer counts up on them."""
SHARED_PATHS: Final = 4
"""Paths that all writers write."""


@dataclass(frozen=True)
class Orders:
    """Who a process is, and where it works."""

    name: str
    """Its first letter says what it does: w, c, r, k."""
    url: str
    directory: Path
    """Of the journals, and of the file `stop`."""
    storage_options: Mapping[str, str] | None = None


def act(orders: Orders) -> None:
    """What a process does with its life."""
    journal = Journal(orders.directory, orders.name)
    while not is_stopped(orders):
        try:
            with connect(orders.url, storage_options=orders.storage_options) as graveler:
                _work(graveler, journal, orders)
        except (SlowDown, Unavailable):
            sleep(0.02)


def _work(graveler: Graveler, journal: Journal, orders: Orders) -> None:
    branch = graveler.repository("repo").branch("main")
    steps: dict[str, Callable[[Branch, Journal], None]] = {
        "w": write,
        "c": commit,
        "r": read,
        "k": partial(keep, graveler),
    }
    step = steps[orders.name[0]]
    while not is_stopped(orders):
        # Who pauses lets the others come between: all at full speed would only queue for the processor.
        sleep(random.uniform(0, 0.05))
        try:
            step(branch, journal)
        except OutcomeUnknown as error:
            journal.end("unknown", repr(error))
        except (SlowDown, Unavailable, Conflict) as error:
            journal.end("refused", repr(error))
            sleep(0.02)
        except Exception as error:
            journal.end("crashed", repr(error))
            raise


def is_stopped(orders: Orders) -> bool:
    """Whether the process shall end."""
    return (orders.directory / "stop").exists() or os.getppid() == 1


def write(branch: Branch, journal: Journal) -> None:
    """One write: mostly of one path of the writer's own, now and then of several or of one that all write."""
    actor, number = journal.actor, journal.number
    own = [f"own/{actor}/{(number + offset) % OWN_PATHS}" for offset in range(3)]
    value = f"{actor}:{number}"
    if number % 20 == 9:
        journal.begin("bulk", dict.fromkeys(own, value))
        size = len(own)
        branch.stage_many(pa.table({"key": own, "checksum": [value] * size, "address": ["data/x"] * size}))
    elif number % 10 == 4:
        journal.begin("remove", {own[0]: None})
        branch.remove(own[0])
    elif number % 10 == 6:
        data = value.encode()
        journal.begin("put", {own[0]: f"sha256:{hashlib.sha256(data).hexdigest()}"})
        branch.put(own[0], data)
    else:
        path = f"shared/{number % SHARED_PATHS}" if number % 3 == 0 else own[0]
        journal.begin("stage", {path: value})
        branch.stage(path, Entry(address="data/x", size=number, checksum=value))
    journal.end("done")


def commit(branch: Branch, journal: Journal) -> None:
    """A commit under a key of its own; after one whose end nobody knows, the same again."""
    key = f"{journal.actor}:{journal.number}"
    if journal.past and journal.past[-1].verb == "commit" and journal.past[-1].outcome == "unknown":
        key = str(journal.past[-1].values["key"])
        journal.past.clear()
    journal.begin("commit", {"key": key})
    try:
        made = branch.commit(key, idempotency_key=key)
    except NoChanges as absorbed:
        journal.end("absorbed", absorbed.details.get("commit"))
        sleep(0.01)
    else:
        journal.end("done", made.id)


def read(branch: Branch, journal: Journal) -> None:
    """A look at one path, or at all of one writer's."""
    chance = random.Random(journal.number)
    folder = chance.choice([f"own/w{chance.randrange(8)}/", "shared/"])
    if journal.number % 2:
        journal.begin("list", {})
        seen = {entry.path: entry.checksum for entry in branch.list(folder)}
        journal.end("done", folder, seen)
        return
    path = f"{folder}{chance.randrange(SHARED_PATHS)}"
    journal.begin("get", {})
    try:
        found: str | None = branch.get(path).checksum
    except NotFound as error:
        if error.kind is not Kind.PathNotFound:
            raise
        found = None
    journal.end("done", path, {path: found})


def keep(graveler: Graveler, branch: Branch, journal: Journal) -> None:
    """A compaction, a sweep, a cleaning, a collection or a multipart upload that nobody ends."""
    verb = ("compact", "sweep", "clean", "collect", "upload")[journal.number % 5]
    journal.begin(verb, {})
    repo = graveler.repository("repo")
    if verb == "compact":
        with suppress(NoChanges):
            branch.compact()
    elif verb == "sweep":
        repo.sweep()
    elif verb == "clean":
        graveler.clean()
    elif verb == "collect":
        repo.collect()
    else:
        branch.begin_multipart(f"parts/{journal.number}")
    journal.end("done")
