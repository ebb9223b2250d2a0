"""Sets of concurrent calls: a few creations, deletions, cleaners and restorations of one or two names."""

from __future__ import annotations

from tests.proofs.model.lifecycle.cleaning import clean
from tests.proofs.model.lifecycle.creating import create
from tests.proofs.model.lifecycle.deleting import delete, entered
from tests.proofs.model.lifecycle.registers import (
    DELETED,
    DELETING,
    INITIAL,
    PURGING,
    Entry,
    Flow,
    Registers,
    Repository,
)
from tests.proofs.model.lifecycle.restoring import undelete
from tests.proofs.model.lifecycle.search import Configuration


def _two_creations(r: Registers) -> list[Flow]:
    return [create(r, "r", "1", "p"), create(r, "r", "2", "q"), delete(r, "r", "d")]


def _overlapping_namespaces(r: Registers) -> list[Flow]:
    return [create(r, "r", "1", "p"), create(r, "s", "2", "p/x"), delete(r, "r", "d")]


def _same_namespace(r: Registers) -> list[Flow]:
    r.place("r", "0", "p")
    return [delete(r, "r", "d"), clean(r, "0", "k"), create(r, "s", "2", "p"), delete(r, "s", "e")]


def _two_deletions_and_a_creation(r: Registers) -> list[Flow]:
    r.place("r", "0", "p")
    return [delete(r, "r", "d"), delete(r, "r", "e"), clean(r, "0", "k"), create(r, "r", "1", "q")]


def _slow_creation(r: Registers) -> list[Flow]:
    return [create(r, "r", "1", "p"), delete(r, "r", "d"), clean(r, "1", "k"), undelete(r, "1", "u")]


def _slow_bare_creation(r: Registers) -> list[Flow]:
    r.place("s", "0", "p/x")
    flows = [create(r, "r", "1", "p", bare=True), delete(r, "r", "d"), undelete(r, "1", "u"), clean(r, "1", "k")]
    return flows


def _restoration_and_cleaner(r: Registers) -> list[Flow]:
    r.place("r", "0", "p")
    return [delete(r, "r", "d"), undelete(r, "0", "u"), clean(r, "0", "k"), delete(r, "r", "e")]


def _two_restorations(r: Registers) -> list[Flow]:
    _deleted(r)
    return [undelete(r, "0", "u"), undelete(r, "0", "v"), clean(r, "0", "k"), delete(r, "r", "d")]


def _restoration_and_creation(r: Registers) -> list[Flow]:
    _deleted(r)
    return [undelete(r, "0", "u"), create(r, "r", "1", "q"), clean(r, "0", "k"), delete(r, "r", "d")]


def _two_cleaners(r: Registers) -> list[Flow]:
    r.place("r", "0", "p")
    return [delete(r, "r", "d"), clean(r, "0", "k"), clean(r, "0", "l"), undelete(r, "0", "u")]


def _deletions_around_a_restoration(r: Registers) -> list[Flow]:
    r.place("r", "0", "p")
    return [delete(r, "r", "d"), delete(r, "r", "e"), undelete(r, "0", "u"), create(r, "r", "1", "q")]


def _record_of_a_failed_restoration(r: Registers) -> list[Flow]:
    """A cleaner has claimed the entry and died; a restoration whose entry it was writes its record at last."""
    _deleted(r)
    r.entries["0"] = r.entries["0"]._replace(state=PURGING)
    return [_left_by_a_restoration(r), clean(r, "0", "k"), clean(r, "0", "l"), _deleted_and_restored(r)]


def _left_by_a_restoration(r: Registers) -> Flow:
    record = r.entries["0"].repository._replace(state=INITIAL, nonce="u")
    yield None
    r.swap_repository("r", None, record)
    return "lost race"


def _deleted_and_restored(r: Registers) -> Flow:
    yield from delete(r, "r", "d")
    return (yield from undelete(r, "0", "v"))


def _restoration_of_which_a_request_is_lost(r: Registers) -> list[Flow]:
    _deleted(r)
    return [undelete(r, "0", "u", lost=True), clean(r, "0", "k"), clean(r, "0", "l"), delete(r, "r", "d")]


def _entry_of_an_earlier_deletion(r: Registers) -> list[Flow]:
    """The entry of a deletion arrives after the restoration."""
    _deleted(r)
    r.place("r", "0", "p", deletions=1)
    return [delete(r, "r", "d"), undelete(r, "0", "u"), clean(r, "0", "k"), delete(r, "r", "e")]


def _stalled_deletion(r: Registers) -> list[Flow]:
    """Its record is gone, because the repository was restored."""
    _deleted(r)
    stalled = r.entries.pop("0").repository
    r.place("r", "0", "p", deletions=1)
    return [_entered(r, stalled), delete(r, "r", "d"), undelete(r, "0", "u"), clean(r, "0", "k")]


def _entered(r: Registers, held: Repository) -> Flow:
    yield from entered(r, "r", held, "s")
    yield None
    r.swap_repository("r", held, None)
    return "deleted"


def _deleted(r: Registers) -> None:
    held = r.place("r", "0", "p")._replace(state=DELETING, nonce="1", deletions=1)
    r.newest["0"] = 1
    del r.repositories["r"]
    r.entries["0"] = Entry(DELETED, "2", held, "r")


CONFIGURATIONS = [
    Configuration(begin.__name__.strip("_").replace("_", " "), begin)
    for begin in (
        _two_creations,
        _overlapping_namespaces,
        _same_namespace,
        _two_deletions_and_a_creation,
        _slow_creation,
        _slow_bare_creation,
        _restoration_and_cleaner,
        _two_restorations,
        _restoration_and_creation,
        _two_cleaners,
        _deletions_around_a_restoration,
        _record_of_a_failed_restoration,
        _restoration_of_which_a_request_is_lost,
        _entry_of_an_earlier_deletion,
        _stalled_deletion,
    )
]


def _everything(r: Registers) -> list[Flow]:
    r.place("r", "0", "p")
    calls = [delete(r, "r", "d"), delete(r, "r", "e"), clean(r, "0", "k")]
    return [*calls, undelete(r, "0", "u"), create(r, "r", "1", "q")]


EVERYTHING = Configuration("everything", _everything, crashes=0)
