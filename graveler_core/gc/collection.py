"""Collection of content: deletion of objects that nothing names, or that only expired commits name.

    nothing  ──condemn, confirm──▶  condemned  ──verify──▶  deleting  ──▶  deleted

1. Condemn. Read the retention rules, and find the commits that they do not keep (`gc.retention`). List the namespace,
   or read an inventory of it (`gc.object_listing`). Candidates are the objects that graveler has created (`data/`),
   that are older than the grace period, and that belong to no upload in progress. Read all names of the repository,
   and those of other repositories of the store that lie in the namespace (`gc.named_addresses`), and compare them with
   the candidates, here or on a cluster (`gc.examination`). Candidates that nothing names, or that are named only by
   commits that are not kept, are condemned in three steps. (a) Write their addresses, and the ids of these commits, to
   files. (b) Swap the collection record for one that lists the files. ✓ This announces the commits. (c) Read the clock,
   and swap the record for one in which the grace period begins at this time. ✓ The grace period therefore never begins
   before step (b), even if the collector pauses.
2. Wait for the grace period. From step 1 on, nothing can stage a condemned address (`engine.staging.kept_content`).
   A flow that needs the content of an announced commit revives the commit: it swaps the record ✓
   (`engine.reading.expired`).
3. Verify. Read rules, references and names again. Announced commits that are kept now, or are revived, do not expire.
   The others expire. Objects that something else names are spared. One swap records the other objects as `deleting`,
   and the commits as expired. ✓
4. Delete the objects, and record the set as `deleted`. ✓ Before each batch of deletions, read again the claim of the
   namespace, its owner files (`objects.owner_files`) and the record. A collector that finds another claim, the file of
   another repository, or the set no longer there, deletes nothing more. Objects that graveler has not created are
   looked up first, and stay if another program has written them after the announcement. Objects that the store refuses
   to delete stay too. The collection does all else, and then raises the error. Both are condemned again. The addresses
   of the set are remembered for 90 days, so that an entry that somebody has kept in memory cannot be staged. If commits
   have expired, they are remembered for ever, because the metadata of these commits still shows them.

Proof that no object is deleted to which an entry refers, except for entries of expired commits. A name of an object
comes from the flow that stored the object, from an entry that is staged by its address, or from another name in the
repository. Step 4 deletes objects that had no name at step 3. Consider the ways in which one may get a name later:

* The flow that stored the object stages it within the grace period. The object was older when it was condemned, so
  that flow had ended before step 1, and step 3 found its name.
* A flow that stages an entry by its address reads the collection record first. If it reads the record after step 1, it
  refuses the entry. If it reads the record before step 1, it ends within the grace period, and step 3 found the entry.
  A flow does not read the collection record if the repository record that it has read says that nothing was ever
  condemned. The first collection changes the repository record before step 1, so such a flow began before step 1, or
  it uses a copy of the record from before step 1, which is at most three minutes old (`stores.registers`). In
  both cases it ends within the grace period, and step 3 found the entry.
* A commit, merge, compaction or import names only content of commits and of staged changes. Step 3 finds all of these
  names, wherever they move (`gc.named_addresses`). It reads all commits except those that expire.
* A flow takes content from a commit that expires: a branch or tag is created at it, a branch is reset to it or
  undeleted at it, or it is merged or replayed. Each of these flows checks the commit first. If it reads the record
  before step 1, it ends within the grace period, and step 3 finds what it has made: a reference to the commit, so that
  the commit is kept, or new commits that name the content. If it reads the record between steps 1 and 3, it swaps the
  record. If the swap comes first, the swap of step 3 fails, and the next verification finds the commit revived. If the
  swap of step 3 comes first, the flow finds the commit expired, and is refused. The flow that has revived the commit
  ends within a grace period, and the commit can expire only with a later set, after another grace period.
* A flow that builds on the head of a branch needs no check, even if the head is announced. Its swap succeeds only while
  the commit is the head. Step 3 reads the branches. If it finds the commit as head, the commit is kept. If it does not,
  then it finds the new head, which names the content itself and is not announced. No other flow can make the commit a
  head between steps 1 and 3 without reviving it.
* The rules change. Step 3 reads them. Rules that are set later do not bring expired commits back.

A commit that is not kept has no reference, but a flow may be about to give it one. Either the flow is one of the above,
or it has just stored the commit, with an old date: the caller has chosen it, or the clock is behind. In the second
case, the flow began before step 1, ends within the grace period, and step 3 finds the reference.

An expired commit keeps its header, layout and tree for ever. Only content is deleted, so logs, listings and
differences work as before. Step 3 enters commits and objects with the same swap, so content is never missing from a
commit that is not marked as expired.

The grace period must therefore be longer than any flow that stages entries by address, stores content, or makes
something depend on a commit. A sweep has the same condition. Less than a day is refused unless no other process works
on the repository.

The record is changed by swaps only. If two collectors find the same state, one of them wins the swap, and the other
goes on from the record that it finds. If a file of a set is missing and the record has changed since it was read,
another collector has verified the set, and the collection reads the files of the new record. Both may delete the
objects of a set that is entered as `deleting`, because the set never changes and graveler never uses an address again.
An object that another program has written again is left alone. After a crash, the next collection goes on from the
record.

Files that no record lists are deleted when they are older than the grace period. A collector that has paused may be
about to enter such files. Therefore the record is replaced first, by an equal one with a fresh nonce. ✓ The paused
collector read the record before it wrote the files, and the files were found before the record was replaced. Its own
swap therefore fails, and a record never lists a file that was deleted.

The record has a limited size. A collection therefore begins by putting deleted sets together (`gc.deleted_sets`): it
writes the addresses of several sets to new files, and swaps the record for one that lists these instead. ✓ Both records
contain the same addresses. A flow that has read the former record and misses a file reads the record again. The number
of files of a set is limited, too, so the files of a large set are larger.

A backup of the database may contain a former record. Each swap therefore notes the sets that the record no longer
lists, with the time. Their files stay for a grace period, so that the record of a younger backup can be used.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.deletion import RefusedDeletions, delete_permitted
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.gc.candidates import Candidates
from graveler_core.gc.collected import Collected
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.collection_record import PREFIXES, CollectionRecord, ListedFiles
from graveler_core.gc.commit_groups import CommitGroups
from graveler_core.gc.examination import ObjectsToExamine, begin_examination, examine
from graveler_core.gc.examined_objects import ExaminedObjects, measured
from graveler_core.gc.expiry import CommitStates, read_states
from graveler_core.gc.object_listing import ObjectListing, not_written_since
from graveler_core.gc.own_namespace import require_own_namespace
from graveler_core.gc.stock import Progress
from graveler_core.gc.unreached import UnreachedCommits
from graveler_core.model.clock import is_far_ahead
from graveler_core.model.collection import CollectionState, CondemnedSet, Reason
from graveler_core.model.entities import RepositoryRecord
from graveler_core.objects import condemned, expired_commits
from graveler_core.objects.store_clock import require_right_clock
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from graveler_core.telemetry.events import tell_damaged

DELETED_AT_ONCE = 2_000
"""Maximum number of objects that are deleted between two reads of the record and the claim."""
_VERIFICATION = timedelta(days=1)
"""Maximum time from the last look at the objects of a set until the set is entered as `deleting`. Only a collection
that completes the work of another one depends on it.
"""
_LONGEST = timedelta(days=36_500)


def collect(
    stores: Stores,
    repo: RepositoryRecord,
    plan: CollectionPlan | None = None,
    *,
    progress: Progress = lambda more: None,
) -> Collected:
    """Delete the objects that are due, and condemn those that nothing names any more.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        plan: Options.
        progress: Called with the number of items examined since the last call.

    Returns:
        Numbers and sizes of the objects.

    Raises:
        CorruptData: An item that names objects is missing or damaged, or the namespace belongs to another repository.
            Nothing more is condemned or deleted.
        InvalidInput: The repository is bare, so it is unknown which objects a restoration will need. Or the clock of
            this machine is wrong (`objects.store_clock`).
        NotFound: The repository was deleted.
        SlowDown, Unavailable, OutcomeUnknown: Collect again. Some objects may be deleted.
        GravelerError: The store refuses to delete some objects (`details["failed"]`). All else is done, and a later
            collection condemns them again.
    """
    if repo.bare:
        raise InvalidInput(f"collect: repository {repo.id!r} is bare, so it is unknown which objects are needed")
    work = _Collection(stores, repo, plan or CollectionPlan(), progress)
    work.require_claim()
    work.require_right_clock()
    work.shorten_record()
    work.unreached.prepare()
    work.finish()
    work.condemn()
    work.finish()
    work.drop_unlisted()
    work.report_waiting()
    work.refused.require_none(work.done.deleted)
    return work.done


class _Collection:
    def __init__(self, stores: Stores, repository: RepositoryRecord, plan: CollectionPlan, progress: Progress) -> None:
        self.stores = stores
        self.repository = repository
        self.plan = plan
        self.progress = progress
        self.done = Collected(plan.dry_run)
        self.cutoff = stores.clock.now() - min(plan.grace, _LONGEST)
        self.blobs = stores.blobs.at(repository.storage_namespace)
        self.record = CollectionRecord(stores, repository)
        self.unreached = UnreachedCommits(stores, repository, plan, self.record, progress)
        self.refused = RefusedDeletions()
        self.assumed: tuple[pa.Table, CommitStates | None] | None = None
        """Objects that a dry run would have deleted, and the states of the commits afterwards."""

    @property
    def current(self) -> CondemnedSet | None:
        """Set that is condemned or being deleted. After a dry run would have deleted it, `None`."""
        return None if self.assumed is not None else self.record.value.current

    def require_claim(self) -> None:
        """Refuse to work in a namespace that belongs to another repository."""
        require_own_namespace(self.stores, self.repository, dry_run=self.plan.dry_run)

    def require_right_clock(self) -> None:
        """Refuse to work with a wrong clock."""
        if not self.plan.dry_run:
            require_right_clock(self.blobs, self.repository.uid, self.stores.clock)

    def shorten_record(self) -> None:
        """Make room in the record, which grows afterwards. If another process changes it, the next collection does.

        If a file becomes unreadable in the meantime, the record stays as it is: collections do not need the file
        otherwise.
        """
        if not self.plan.dry_run:
            try:
                self.record.shorten(self.cutoff)
            except CorruptData as e:
                tell_damaged(e)
            except MemoryError as e:
                tell_damaged(CorruptData(f"sets of deleted objects: {e}", name="collections"))

    def finish(self) -> None:
        """Delete the objects of the current set if it is due, and the commits that are entered as removed."""
        self.unreached.remove()
        if self.current is None:
            return
        listed = self.record.read_files()
        current = self.current  # another collection may have changed the record
        if current is None:
            return
        if current.state is CollectionState.CONDEMNED:
            now = self.stores.clock.now()
            if current.unconfirmed or is_far_ahead(current.since, now):
                if not self.plan.dry_run:
                    self.record.confirm()
            elif now - current.since >= self.plan.grace:
                self._verify(current, listed)
        elif self.plan.dry_run:
            self._assume(listed.objects, None)
        else:
            self._delete(current, current.since - _VERIFICATION)

    def condemn(self) -> None:
        """If no set is condemned, condemn the objects that nothing names, and announce the commits that expire."""
        plan, repo = self.plan, self.repository
        listing = ObjectListing(repo, self.cutoff, plan.foreign, plan.inventory)
        wanted = begin_examination(self.stores, listing, self.progress)
        listed = self.record.read_files()
        gone, states = self.assumed or (listed.objects, None)
        states = states or self._states(listed)
        found = self._examined(replace(wanted, left_out=gone), states.before_announcement())
        self.done.named, self.done.named_size = found.named
        self.done.history, self.done.history_size = found.history
        self.done.young, self.done.young_size = found.young
        self.done.uploading, self.done.uploading_size = found.uploading
        if self.current is not None:
            return
        objects = found.unnamed
        self.done.condemned, self.done.condemned_size = measured(objects)
        self.done.condemned_expired, self.done.condemned_expired_size = measured(_expired(objects))
        self.done.expiring = len(states.new)
        lost = self.unreached.new(listed, states.expiring, self.cutoff)
        self.done.unreached = lost.num_rows
        if (objects.num_rows or states.new or lost.num_rows) and not self.plan.dry_run:
            self.repository = repositories.check_addresses(self.stores.kv, self.stores.ids, self.repository)
            self.stores.registers.forget_all(self.repository.id)
            announced = expired_commits.merged([states.announcement(self.stores.clock.now()), lost])
            if self.record.condemn(objects, announced):
                self.record.confirm()

    def drop_unlisted(self) -> None:
        """Delete old files that no record lists, after no record can list them any more."""
        if self.plan.dry_run:
            return
        blobs = [blob for prefix in PREFIXES for blob in self.blobs.list(prefix) if blob.mtime <= self.cutoff]
        old = [blob.address for blob in blobs if not self.record.lists(blob.address)]
        if old and self.record.renew():
            self.refused.add(delete_permitted(self.blobs, old, self.stores.executor.map))

    def report_waiting(self) -> None:
        """Note the set that waits for the end of its grace period."""
        current = self.current
        if current is not None and current.state is CollectionState.CONDEMNED:
            self.done.waiting, self.done.waiting_size = current.objects, current.size
            self.done.waiting_files = condemned.uris(self.blobs, current)
            self.done.due = current.since + self.plan.grace

    def _states(self, listed: ListedFiles) -> CommitStates:
        return read_states(self.stores, self.repository, listed, self.plan, self.progress)

    def _examined(self, wanted: ObjectsToExamine, groups: CommitGroups) -> ExaminedObjects:
        return examine(self.stores, wanted, groups, self.progress)

    def _verify(self, current: CondemnedSet, listed: ListedFiles) -> None:
        """Spare the objects of a condemned set that something names, and the commits that something keeps now. Delete
        the other objects, after they were entered as `deleting`, and the other commits as expired.
        """
        states = self._states(listed)
        after = states.with_due_expired()
        wanted = ObjectsToExamine(self.repository, None, Candidates(listed.objects))
        found = self._examined(wanted, after.after_expiry())
        unnamed = _among(listed.objects, found.unnamed)
        objects = not_written_since(self.stores, self.repository, unnamed, current.since)
        self.done.spared = listed.objects.num_rows - objects.num_rows
        self.done.spared_size = measured(listed.objects)[1] - measured(objects)[1]
        self.done.expired = states.due.num_rows
        removed = self.unreached.due(listed, current.revived)
        self.done.removed = removed.num_rows
        announced = states.announced.num_rows + listed.unreached.num_rows + len(current.revived)
        self.done.revived = announced - states.due.num_rows - removed.num_rows
        if self.plan.dry_run:
            self._assume(objects, after)
            return
        expired = after.expired if states.due.num_rows else None
        deleting = self.record.verify(objects, expired, self.unreached.remembered(removed, listed))
        self.unreached.remove()
        if deleting is not None:
            self._delete(deleting, current.since)

    def _assume(self, objects: pa.Table, states: CommitStates | None) -> None:
        """Go on as if objects had been deleted."""
        self.assumed = objects, states
        self._note_deleted(objects)

    def _delete(self, current: CondemnedSet, seen: datetime) -> None:
        """Delete all objects of a set in the state `deleting`. Stop if another collection has already ended the set.

        Objects that the store refuses to delete, and those that another program writes again, are condemned again.

        Args:
            current: The set.
            seen: Time at which the objects were seen last, or an earlier one. Objects that another program has written
                since then stay.
        """
        self.done.files += condemned.uris(self.blobs, current)
        for table in condemned.read(self.blobs, current):
            for start in range(0, table.num_rows, DELETED_AT_ONCE):
                self.require_claim()
                if not self.record.is_current(current):
                    return
                self._delete_batch(table.slice(start, DELETED_AT_ONCE), seen)
        self.record.remember(current)

    def _delete_batch(self, batch: pa.Table, seen: datetime) -> None:
        batch = not_written_since(self.stores, self.repository, batch, seen)
        addresses, run = batch.column("address"), self.stores.executor.map
        refused = delete_permitted(self.blobs, addresses.to_pylist(), run, self.progress)
        self.refused.add(refused)
        self._note_deleted(batch.filter(pc.invert(pc.is_in(addresses, value_set=pa.array(list(refused), pa.string())))))

    def _note_deleted(self, objects: pa.Table) -> None:
        count, size = measured(objects)
        self.done.deleted += count
        self.done.deleted_size += size
        count, size = measured(_expired(objects))
        self.done.deleted_expired += count
        self.done.deleted_expired_size += size


def _among(objects: pa.Table, chosen: pa.Table) -> pa.Table:
    """Return those of some objects whose addresses are in another table."""
    return objects.filter(pc.is_in(objects.column("address"), value_set=chosen.column("address")))


def _expired(objects: pa.Table) -> pa.Table:
    """Return the objects that only expiring commits named."""
    return objects.filter(pc.equal(objects.column("reason"), Reason.EXPIRED.value))
