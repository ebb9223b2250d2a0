"""One process of those that use a store beyond a network that fails: see `tests.chaotic_network`.

It does what the processes of `actor` do, and also makes transactions, merges, branches, and swaps of one row of the
store. Every error must be one of graveler, say whether the call had an effect, and show no secret.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from time import sleep
from traceback import format_exception
from typing import Final, TypeVar

from graveler_core.errors import Conflict, Kind, NotFound, NotUnique, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.registry import open_store
from graveler_core.kv.store import Store
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put, Resolution
from graveler_core.wiring.handles import connect
from tests.proofs.processes.actor import Orders, commit, is_stopped, keep, read, write
from tests.proofs.processes.journal import Journal

_T = TypeVar("_T")

SECRET: Final = "hush-canary"
"""Password in the URLs of stores, which no error may show."""
GROUP: Final = 3
"""Number of paths that a transaction or a merge writes, all with one value."""
GROUPS: Final = ("txn/", "merged/")
TRUNK: Final = "trunk"
"""Branch that is merged into. On `main` something is staged at any time, which a merge refuses."""
PARTITION: Final = b"chaos"
"""Partition of the rows that are swapped: none of graveler's own."""
MARKS: Final = 40
"""Number of swaps that one row shows."""
KEPT: Final = 4
"""One branch of so many is not deleted."""
_REPETITIONS: Final = 3
_UNCERTAIN: Final = (SlowDown, Unavailable, OutcomeUnknown)


@dataclass
class Life:
    """A life of a process, with one handle."""

    graveler: Graveler
    store: Store
    repository: Repository
    main: Branch
    """The branch that all change."""
    journal: Journal
    row: int = 0
    """Number of the row that is swapped."""


def live(orders: Orders) -> None:
    """What a process does with its life. It opens the store again if it could not be opened."""
    journal = Journal(orders.directory, orders.name)
    while not is_stopped(orders):
        try:
            with connect(orders.url) as graveler, closing(open_store(orders.url)) as store:
                repository = graveler.repository("repo")
                _work(Life(graveler, store, repository, repository.branch("main"), journal), orders)
        except _UNCERTAIN as error:
            _shows_no_secret(error)
            sleep(0.05)


def _work(life: Life, orders: Orders) -> None:
    journal = life.journal
    step = {**_SHARED, **_OWN}[orders.name[0]]
    while not is_stopped(orders):
        sleep(random.uniform(0, 0.1))
        try:
            step(life)
        except OutcomeUnknown as error:
            _ended(journal, "unknown", error)
        except (SlowDown, Unavailable, Conflict) as error:
            _ended(journal, "refused", error)
            sleep(0.02)
        except Exception as error:
            journal.end("crashed", repr(error))
            raise


def _ended(journal: Journal, outcome: str, error: Exception) -> None:
    _shows_no_secret(error)
    journal.end(outcome, repr(error))


def _shows_no_secret(error: Exception) -> None:
    assert SECRET not in "".join(format_exception(error))


def look(life: Life) -> None:
    """A look at what transactions have written, or at something else."""
    if life.journal.number % 3:
        read(life.main, life.journal)
        return
    life.journal.begin("list", {})
    seen = {entry.path: entry.checksum for entry in life.main.list(GROUPS[0])}
    life.journal.end("done", GROUPS[0], seen)


def transact(life: Life) -> None:
    """A transaction on the branch, repeated with its key while its outcome is unknown."""
    operations, value = _group(life.journal, "txn")
    life.journal.begin("transact", {each.path: value for each in operations})
    life.journal.end("done", _applied(life.main, operations, value))


def merge(life: Life) -> None:
    """A merge of a branch of its own, on which it has written, into the branch that only merges change."""
    journal, repository = life.journal, life.repository
    operations, value = _group(journal, "merged")
    name = f"feature-{journal.actor}"
    journal.begin("merge", {each.path: value for each in operations})
    with suppress(NotUnique):
        repository.create_branch(name, TRUNK)
    _applied(repository.branch(name), operations, f"feature {value}")
    made = settled(lambda: repository.merge(name, into=TRUNK, message=value, idempotency_key=value).id)
    journal.end("done", made)


def branch(life: Life) -> None:
    """A new branch, or the deletion of the last one. One of some stays."""
    journal = life.journal
    number = journal.number // 2
    name = f"b-{journal.actor}-{number}"
    if journal.number % 2 == 0:
        journal.begin("create", {"name": name})
        life.repository.create_branch(name, "main")
    elif number % KEPT:
        journal.begin("delete", {"name": name})
        try:
            life.repository.delete_branch(name)
        except NotFound as error:
            if error.kind is not Kind.BranchNotFound:
                raise
            journal.end("absent")
            return
    else:
        journal.begin("stay", {"name": name})
    journal.end("done")


def swap(life: Life) -> None:
    """A compare-and-swap that adds a mark to a row, without the library in between."""
    mark = f"{life.journal.actor}:{life.journal.number}"
    life.journal.begin("swap", {"mark": mark})
    while True:
        key = str(life.row).encode()
        found = life.store.get(PARTITION, key)
        if found is None or found.value.count(b"\n") < MARKS:
            break
        life.row += 1
    held, predicate = (b"", None) if found is None else (found.value, found.predicate)
    life.store.set_if(PARTITION, key, held + mark.encode() + b"\n", predicate)
    life.journal.end("done", str(life.row))


def settled(call: Callable[[], _T]) -> _T:
    """Call, and call again while the outcome is unknown. The call must have a key, so that it has its effect once."""
    doubt: OutcomeUnknown | None = None
    for _ in range(_REPETITIONS):
        try:
            return call()
        except OutcomeUnknown as error:
            doubt = error
        except (SlowDown, Unavailable, Conflict):
            if doubt is None:
                raise
    assert doubt is not None
    raise doubt


def _group(journal: Journal, folder: str) -> tuple[list[Put], str]:
    value = f"{journal.actor}:{journal.number}"
    entry = Entry(address="data/x", size=journal.number, checksum=value)
    return [Put(f"{folder}/{journal.actor}/{number}", entry) for number in range(GROUP)], value


def _applied(target: Branch, operations: list[Put], key: str) -> str:
    return settled(
        lambda: str(
            target.transact(operations, message=key, idempotency_key=key, on_conflict=lambda _: Resolution.APPLY).id
        )
    )


def _of_branch(step: Callable[[Branch, Journal], None], life: Life) -> None:
    step(life.main, life.journal)


def _keep(life: Life) -> None:
    keep(life.graveler, life.main, life.journal)


_SHARED: Final[dict[str, Callable[[Life], None]]] = {
    "w": partial(_of_branch, write),
    "c": partial(_of_branch, commit),
    "k": _keep,
}
_OWN: Final[dict[str, Callable[[Life], None]]] = {"r": look, "t": transact, "m": merge, "b": branch, "x": swap}
