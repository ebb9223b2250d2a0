"""Mutants of erasures: each is a way to lose content that another path has, or to leave content that was to go."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from graveler_core.engine.staging import kept_content, write
from graveler_core.erasure import flow, standing, survey
from graveler_core.erasure.standing import StandingErasure
from graveler_core.model.erasure import ErasedContent
from graveler_core.objects.erased import ErasedContents
from tests.proofs.simulation import collecting, erasing
from tests.proofs.simulation.mutants.plant import GARBAGE, instead, mutant

ERASED = "all erased content is deleted, and no other content"
"""Guarantee of erasures in `docs/guarantees.md`."""


@mutant(seed=74, breaks=ERASED, theme=collecting.ERASURES)
def writers_do_not_ask_for_erasures() -> Iterator[None]:
    """A write does not check whether its content is erased."""
    with instead((kept_content, "_require_not_erased", lambda *_: None)):
        yield


@mutant(seed=26, breaks=ERASED, theme=collecting.ERASURES)
def erasures_are_not_counted() -> Iterator[None]:
    """An erasure does not change the repository record, so writes in progress do not learn of it."""
    uncounted = SimpleNamespace(**vars(standing.repositories) | {"count_erasure": lambda kv, ids, repo: repo})
    with instead((standing, "repositories", uncounted)):
        yield


@mutant(seed=132, breaks=ERASED, theme=collecting.ERASURES)
def names_are_not_read_again_for_sharing() -> Iterator[None]:
    """An erasure does not find out whether another path has got the content since it began."""
    with instead((StandingErasure, "_sharing", lambda work, rule, found: [])):
        yield


@mutant(seed=4, breaks=ERASED, theme=collecting.ERASURES)
def sharing_is_never_looked_for() -> Iterator[None]:
    """An erasure does not look for other paths that have the content."""
    with instead((flow, "sharing", lambda *_: []), (standing, "sharing", lambda *_: [])):
        yield


@mutant(seed=41, breaks=ERASED, theme=collecting.ERASURES)
def erasures_do_not_read_other_repositories() -> Iterator[None]:
    """An erasure looks for other entries with the content in its own repository only."""
    with instead((survey, "all_repositories", lambda kv: [erasing.the_repository(kv)])):
        yield


@mutant(seed=61, breaks=ERASED, theme=collecting.ERASURES)
def withdrawn_erasures_delete() -> Iterator[None]:
    """An erasure that is withdrawn deletes what it has marked before."""
    real = StandingErasure._end

    def end(work: StandingErasure, erasure: Any) -> None:
        marks = ErasedContents(work.stores.kv, work.repository.id, work.repository.uid).marks()
        addresses = [mark.address for mark in marks if mark.erasure == erasure.id]
        for address in addresses:
            work.stores.blobs.at(work.repository.storage_namespace).delete(address)
        real(work, erasure)

    with instead((StandingErasure, "_end", end)):
        yield


@mutant(seed=45, breaks=ERASED, theme=collecting.ERASED_PUTS)
def repeated_puts_do_not_check_their_address() -> Iterator[None]:
    """A put that is evaluated again does not check whether its content was erased meanwhile."""
    real = write.require_kept

    def require_kept(stores: Any, repo: Any, entries: Any, *, swaps: bool) -> None:
        if isinstance(entries, list):  # of a stage; a put gives an iterator
            real(stores, repo, entries, swaps=swaps)

    with instead((write, "require_kept", require_kept)):
        yield


@mutant(seed=34, breaks=GARBAGE, theme=collecting.ERASURES)
def marks_of_a_dead_process_do_not_count() -> Iterator[None]:
    """An erasure does not add its round to the marks that a dead process has left."""
    real = ErasedContents.mark

    def mark(known: ErasedContents, wanted: ErasedContent) -> bool:
        return not any(found.address == wanted.address for found in known.marks()) and real(known, wanted)

    with instead((ErasedContents, "mark", mark)):
        yield


@mutant(seed=6, breaks=GARBAGE, theme=collecting.ERASURES)
def interrupted_erasures_are_not_resumed() -> Iterator[None]:
    """An erasure that somebody has left is not completed."""
    with instead((erasing, "resume", lambda stores, repo: None)):
        yield
