"""Mutants of the removal of commits that nothing reaches: each removes a commit to which something leads, or could."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graveler_core.engine.reading import expired
from graveler_core.engine.references import branching, reset, tagging
from graveler_core.gc.collection_record import CollectionRecord
from graveler_core.gc.unreached import UnreachedCommits
from graveler_core.model.collection import Collections
from graveler_core.objects import build_time, expired_commits
from graveler_core.records import access
from tests.proofs.simulation.mutants.plant import instead, mutant
from tests.proofs.simulation.unreached import THEME


@mutant(seed=31, breaks="8", theme=THEME)
def announced_commits_are_not_revived() -> Iterator[None]:
    """A flow that names an announced commit does not revive it."""
    with instead((expired, "_revived", lambda *_: True)):
        yield


@mutant(seed=3, breaks="8", theme=THEME)
def branches_are_not_renewed() -> Iterator[None]:
    """Slow swaps of branches succeed after the references were read for the last time."""
    with instead((UnreachedCommits, "_renew_branches", lambda self: None)):
        yield


@mutant(seed=388, breaks="8", theme=THEME)
def references_are_not_read_again() -> Iterator[None]:
    """References are not read again after branches were renewed, so swaps that came before that are not found."""
    real = UnreachedCommits._reach

    def reach(self: Any, graph: Any, *arguments: Any) -> bool:
        return bool(graph.reachable) or real(self, graph, *arguments)

    with instead((UnreachedCommits, "_reach", reach)):
        yield


@mutant(seed=1, breaks="8", theme=THEME)
def former_heads_are_not_recorded() -> Iterator[None]:
    """Hard resets, assignments and deletions leave a commit without a record."""
    nowhere = (b"nowhere", b"nothing", b"")
    flows = (reset, branching, tagging)
    with instead(*((flow, "former_head", lambda *_: nowhere) for flow in flows)):
        yield


@mutant(seed=28, breaks="8", theme=THEME)
def late_writers_try_again() -> Iterator[None]:
    """A commit that was written days ago is still made the head, or told to hooks."""
    with instead((build_time, "_is_late", lambda *_: False)):
        yield


@mutant(seed=31, breaks="8", theme=THEME)
def headers_are_deleted_before_they_are_entered() -> Iterator[None]:
    """The headers of due commits are deleted, and then the record is swapped."""
    real = UnreachedCommits.due

    def due(self: Any, *arguments: Any) -> Any:
        found = real(self, *arguments)
        for id in found.column("commit").to_pylist():
            self._delete(id)
        return found

    with instead((UnreachedCommits, "due", due)):
        yield


@mutant(seed=78, breaks="8", theme=THEME)
def removed_commits_are_forgotten() -> Iterator[None]:
    """Flows that name a commit do not find out that it was removed."""
    real = expired_commits.among

    def among(blobs: Any, record: Collections, commits: Any) -> Any:
        return real(blobs, record.model_copy(update={"removed": None}), commits)

    with instead((expired.expired_commits, "among", among)):
        yield


@mutant(seed=0, breaks="8", theme=THEME)
def commits_of_earlier_versions_are_not_adopted() -> Iterator[None]:
    """Commits that references left before former heads were recorded are removed."""
    with instead((UnreachedCommits, "_adopt", lambda self: True)):
        yield


@mutant(seed=7, breaks="8", theme=THEME)
def announced_commits_are_removed_whatever_reaches_them_now() -> Iterator[None]:
    """A collection does not read references again at the end of the grace period."""

    def due(self: Any, listed: Any, _revived: Any) -> Any:
        return listed.unreached

    with instead((UnreachedCommits, "due", due)):
        yield


@mutant(seed=40, breaks="8", theme=THEME)
def commits_are_not_checked_after_hooks() -> Iterator[None]:
    """A creation of a branch or tag goes on after hooks that took days."""
    with instead(
        (branching, "require_after_hooks", lambda *_: None), (tagging, "require_after_hooks", lambda *_: None)
    ):
        yield


@mutant(seed=31, breaks="8", theme=THEME)
def verifications_do_not_notice_revivals() -> Iterator[None]:
    """The swap that enters commits as removed succeeds whatever has changed the record."""
    real = CollectionRecord.verify

    def verify(self: Any, *arguments: Any) -> Any:
        self._held = access.read(self._stores.kv, self._where)
        return real(self, *arguments)

    with instead((CollectionRecord, "verify", verify)):
        yield
