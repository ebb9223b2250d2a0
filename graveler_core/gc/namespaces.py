"""Deletion of the content of repositories that a cleaner has removed.

    abandoned  ──claim──▶  emptying  ──delete──▶  emptied  ──release──▶  (no claim, no record)

A cleaner enters the storage namespace of a removed repository as abandoned, and releases it. Each call takes each
abandoned namespace as far as the grace period permits:

1. Claim the namespace as `emptying`, unless it belongs to a repository again, or overlaps another claimed one ✓. From
   now on, no repository can be created there, nothing there can be imported, and no flow can stage an address there
   (`engine.staging.kept_content`).
2. If the namespace overlaps another claimed one, remove the claim ✓. Each call looks for this, because both claims may
   have been made at once, and the call that has made the claim may have crashed. Step 1 looks for it first, so that no
   claim is made for a moment only: it would make other calls remove a claim that has waited. Otherwise wait for the
   grace period. Read the names in all repositories of the store. Delete the objects that graveler has created and that
   nothing names. Enter the claim as `emptied` if none was left ✓.
3. Wait for the grace period. Delete the owner file, and remove the claim ✓ and the record ✓.

Proof that no object is deleted to which an entry refers. The repository itself is gone: it can be neither read nor
restored. Entries of other repositories refer to the objects by full addresses. A flow that stages or imports such an
address reads the claim first. If it reads the claim after step 1, it refuses the address. Otherwise it ends within the
grace period, and step 2 finds the name. Names that move are found as for collections (`gc.collection`).

Files of commits have names that depend on their content, so a new repository in the same namespace may have a file of
the same name. The claim prevents this while objects are deleted. Before each batch of deletions the claim is read, so a
call that has paused deletes at most one batch after the claim has become `emptied`, and the claim remains for another
grace period. The grace period must therefore be longer than the deletion of a batch. Less than a day is refused,
unless nothing else works on the store.

Another store may have taken the namespace over, for example because a dump of the repository was restored there. Then
there is another owner file (`objects.owner_files`), and nothing is deleted. A repository that an older version has
created may have no such file. Therefore nothing is deleted either if an object was written more than a day after the
repository was removed.

Objects that another entry names stay. Then the claim stays `emptying`, and a later call looks again. If a batch was
interrupted, the next call goes on. A bucket that does not exist any more counts as empty. Two calls at once are
harmless: every change of the claim is a swap, and all deletions of one call are also right for the other.

The grace period of a claim whose time a clock far ahead has written begins again: the claim is entered again, in the
same state, with the time now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.deletion import RefusedDeletions, delete_permitted
from graveler_core.blobs.missing_bucket import bucket_may_be_missing
from graveler_core.blobs.port import LISTED, BlobInfo, Blobs
from graveler_core.errors import GravelerError, PredicateFailed
from graveler_core.gc.candidates import Candidates
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.object_listing import CREATED, pages_of, texts
from graveler_core.gc.stock import CONTENT, Progress
from graveler_core.gc.sweep import LEAST_GRACE
from graveler_core.model.address import STORE_DIRECTORY, namespace
from graveler_core.model.clock import is_far_ahead
from graveler_core.model.entities import AbandonedNamespace, ClaimState, NamespaceClaim
from graveler_core.model.ids import Nonce, RepositoryId, RepositoryUid
from graveler_core.objects import owner_files, store_clock
from graveler_core.objects.condemned import ADDRESSES
from graveler_core.objects.store_clock import require_right_clock
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs.namespace_owners import overlapping
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Stores

DELETED_AT_ONCE = 2_000
"""Maximum number of objects that are deleted between two reads of the claim."""


class NamespaceState(StrEnum):
    """State of an abandoned namespace after a call."""

    ABANDONED = "abandoned"
    """Nothing was done: a dry run, or another call works on the namespace."""
    OVERLAPPING = "overlapping"
    """Another namespace contains this one or lies in it. Nothing is deleted as long as it exists."""
    WRITTEN = "written"
    """Objects were written after the repository was removed. Another store may use them, so nothing is deleted."""
    EMPTYING = "emptying"
    """The grace period runs, or other repositories name some of the objects."""
    EMPTIED = "emptied"
    """All objects are deleted. The namespace cannot be used before `due`."""
    RELEASED = "released"
    """All objects are deleted, and the namespace can be used again."""
    OWNED = "owned"
    """A repository has the namespace again, in this store or in another one. It collects the objects."""


@dataclass(slots=True)
class EmptiedNamespace:
    """Result for one abandoned namespace. Sizes are in bytes."""

    uri: str
    repository: RepositoryId
    """Name of the former repository."""
    state: NamespaceState
    deleted: int = 0
    """Number of objects that were deleted. In a dry run: that would be, if no grace period were running."""
    deleted_size: int = 0
    named: int = 0
    """Number of objects that were kept because entries of other repositories name them."""
    named_size: int = 0
    due: datetime | None = None
    """Time from which on a call goes on."""


def empty_namespaces(
    stores: Stores, plan: CollectionPlan | None = None, *, progress: Progress = lambda more: None
) -> Iterator[EmptiedNamespace]:
    """Delete the content of abandoned namespaces, as far as the grace period permits.

    Args:
        stores: Stores of the flow.
        plan: Options. `foreign` includes objects that graveler has not created, except records of key-value stores.
        progress: Called with the number of items examined since the last call.

    Yields:
        The result for each namespace.

    Raises:
        CorruptData: An item that names objects is missing or damaged, or the record of the namespace is damaged.
            Nothing was deleted in this namespace.
        SlowDown, Unavailable, OutcomeUnknown: Call again. Some objects may be deleted.
        GravelerError: The store refuses to delete some objects (`details["failed"]`). The others are deleted.

    An error of one namespace is raised after the other namespaces were processed; of several errors, the first.
    """
    failures = list[GravelerError]()
    for uri, record in access.scan(stores.kv, keys.ABANDONED, damaged=failures.append):
        work = _Namespace(stores, uri, record, plan or CollectionPlan(), progress)
        try:
            work.run()
        except GravelerError as e:
            failures.append(e)
        else:
            yield work.done
    if failures:
        raise failures[0]


class _Namespace:
    def __init__(
        self, stores: Stores, uri: str, record: Held[AbandonedNamespace], plan: CollectionPlan, progress: Progress
    ) -> None:
        self.stores = stores
        self.uri = uri
        self.record = record
        self.plan = plan
        self.progress = progress
        self.where = keys.namespace_claim(uri)
        self.done = EmptiedNamespace(uri, record.value.repository, NamespaceState.ABANDONED)

    @property
    def blobs(self) -> Blobs:
        return self.stores.blobs.at(self.uri)

    def run(self) -> None:
        """Take the namespace through all steps that are due."""
        if self.plan.dry_run:
            return self._foresee()
        claim = access.read(self.stores.kv, self.where) or self._claimed()
        if claim is not None and claim.value.state is not ClaimState.OWNED:
            claim = self._restarted(claim)
        if claim is not None and claim.value.state is ClaimState.EMPTYING:
            claim = self._emptied(claim)
        if claim is not None and claim.value.state is ClaimState.EMPTIED:
            self._release(claim)
        if claim is not None and claim.value.state is ClaimState.OWNED:
            self._forget(claim.value)
        return None

    def _foresee(self) -> None:
        """Measure what would be deleted."""
        claim = access.read(self.stores.kv, self.where)
        if claim is None or claim.value.state is not ClaimState.OWNED:
            found = self._found()
            if found is not None:
                self._measure(found)

    def _claimed(self) -> Held[NamespaceClaim] | None:
        """Claim the namespace. Return `None` if that is not possible."""
        if self._overlaps():
            return None
        self._require_right_clock()
        made = NamespaceClaim(
            owner=RepositoryUid(self.stores.ids.fresh()),
            repository=self.record.value.repository,
            nonce=Nonce(self.stores.ids.fresh()),
            since=self.stores.clock.now(),
            state=ClaimState.EMPTYING,
        )
        try:
            return access.create(self.stores.kv, self.where, made, once=True)
        except PredicateFailed:
            return None

    def _emptied(self, claim: Held[NamespaceClaim]) -> Held[NamespaceClaim] | None:
        """Delete the objects that nothing names. Return the claim, as `emptied`, if none is left."""
        if self._overlaps():
            access.remove(self.stores.kv, self.where, claim)
            return None
        self.done.state = NamespaceState.EMPTYING
        if not self._is_due(claim.value):
            return None
        found = self._found()
        if found is None:
            return None
        self._measure(found)
        unnamed, refused = found.unnamed(), RefusedDeletions()
        for start in range(0, unnamed.num_rows, DELETED_AT_ONCE):
            if access.read(self.stores.kv, self.where) != claim or self._owned_elsewhere():
                return None
            addresses = unnamed.slice(start, DELETED_AT_ONCE).column("address").to_pylist()
            refused.add(delete_permitted(self.blobs, addresses, self.stores.executor.map, self.progress))
        refused.require_none(unnamed.num_rows - refused.count)
        if self.done.named:
            return None
        return self._swapped(claim, ClaimState.EMPTIED)

    def _overlaps(self) -> bool:
        """Return `True` if another namespace has a claim and contains this one or lies in it."""
        if overlapping(self.stores.kv, namespace(self.uri)) is None:
            return False
        self.done.state = NamespaceState.OVERLAPPING
        return True

    def _release(self, claim: Held[NamespaceClaim]) -> None:
        self.done.state = NamespaceState.EMPTIED
        if not self._is_due(claim.value):
            return
        with bucket_may_be_missing():
            self.blobs.delete(store_clock.address(self.record.value.uid))
            owner_files.remove(self.blobs, self.record.value.uid)
        if access.remove(self.stores.kv, self.where, claim):
            access.remove(self.stores.kv, keys.abandoned_namespace(self.uri), self.record)
            self.done.state = NamespaceState.RELEASED

    def _owned_elsewhere(self) -> bool:
        """Return `True` if a repository of another store owns the namespace."""
        others = set[RepositoryUid]()
        with bucket_may_be_missing():
            others = owner_files.owners(self.blobs) - {self.record.value.uid}
        if others:
            self.done.state = NamespaceState.OWNED
        return bool(others)

    def _forget(self, claim: NamespaceClaim) -> None:
        """Remove the record if another repository owns the namespace. A cleaner is about to remove the former claim."""
        if claim.owner != self.record.value.uid:
            self.done.state = NamespaceState.OWNED
            access.remove(self.stores.kv, keys.abandoned_namespace(self.uri), self.record)

    def _is_due(self, claim: NamespaceClaim) -> bool:
        due = claim.since + self.plan.grace
        self.done.due = due if self.stores.clock.now() < due else None
        if self.done.due is not None:
            return False
        self._require_right_clock()
        return True

    def _require_right_clock(self) -> None:
        with bucket_may_be_missing():
            require_right_clock(self.blobs, self.record.value.uid, self.stores.clock)

    def _restarted(self, claim: Held[NamespaceClaim]) -> Held[NamespaceClaim] | None:
        """Begin the grace period of a claim again if a clock far ahead began it. Return `None` as `_swapped` does."""
        if not is_far_ahead(claim.value.since, self.stores.clock.now()):
            return claim
        self._require_right_clock()
        return self._swapped(claim, claim.value.state)

    def _swapped(self, claim: Held[NamespaceClaim], state: ClaimState) -> Held[NamespaceClaim] | None:
        """Enter another state. Return `None` if another call has changed the claim."""
        update = {"state": state, "nonce": Nonce(self.stores.ids.fresh()), "since": self.stores.clock.now()}
        try:
            return access.replace(self.stores.kv, self.where, claim, claim.value.model_copy(update=update))
        except PredicateFailed:
            return None

    def _found(self) -> Candidates | None:
        """Return the objects to delete, marked. Return `None` if another repository may need them."""
        if self._owned_elsewhere():
            return None
        since = pa.scalar(self.record.value.since + LEAST_GRACE, LISTED.field("mtime").type)
        pages = [ADDRESSES.empty_table()]
        with bucket_may_be_missing():
            for page in pages_of(self._listed()):
                if pc.any(pc.greater(page.column("mtime"), since)).as_py():
                    self.done.state = NamespaceState.WRITTEN
                    return None
                pages.append(pa.table([texts(page.column(KEY)), page.column("size")], schema=ADDRESSES))
        found = Candidates(pa.concat_tables(pages))
        found.mark_named(self.stores, self.uri, None, self.progress)
        return found

    def _listed(self) -> Iterator[BlobInfo]:
        clock_file = store_clock.address(self.record.value.uid)
        for blob in self.blobs.list(""):
            self.progress(1)
            if blob.address == clock_file:
                continue
            if blob.address.startswith(owner_files.PREFIX) or STORE_DIRECTORY in blob.address.split("/"):
                continue
            if self.plan.foreign or blob.address.startswith(CONTENT) or CREATED.fullmatch(blob.address):
                yield blob

    def _measure(self, found: Candidates) -> None:
        unnamed = found.unnamed()
        self.done.deleted, self.done.deleted_size = unnamed.num_rows, pc.sum(unnamed.column("size")).as_py() or 0
        self.done.named, self.done.named_size = found.named()
