"""Commits that are written only in part, so that a run to which the layout refers does not exist.

Such a run names nothing that can be read, so the walk over names (`gc.named_addresses`) goes on without it if nothing
leads, or has ever led, to the commit. Otherwise the run was lost, and the walk ends with an error.

Proof that no name is lost. No flow can read the run, so its names exist elsewhere or nowhere. A reference can lead to
the complete commit only after somebody has written the run, and this is after the walk has looked for it:

* Its writer does that, if it has only paused. It has taken the names from layers that its branch lists until the swap,
  from commits, or from its caller. For the walk, the commit is like one of which nothing is stored yet: the proofs of
  `gc.collection`, `gc.namespaces` and `erasure.flow` cover flows that make a name visible later.
* A flow writes a run of the same content for another commit. The same holds for that flow.

Processes that were killed leave such commits, and a restoration of a dump that is not complete. It writes layouts
before runs, into a bare repository. A reference is created after all runs have been written, and before that nobody can
read the names. At its end, a restoration finds out which content was deleted meanwhile (`transfer.collections`).

That nothing has ever led to a commit is known after a collection has recorded as former heads what nothing led to when
the repository began to record them (`gc.unreached`). Before that, no commit is left out. A collection removes these
commits later, as all that no reference has reached.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.collection_record import CollectionRecord
from graveler_core.gc.stock import Progress
from graveler_core.gc.unreached import UnreachedCommits
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId, ObjectId
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


@dataclass(slots=True)
class HalfWrittenCommits:
    """Commits of one repository that lack runs, for one walk. History is read when the first missing run is found."""

    stores: Stores
    repository: RepositoryRecord
    progress: Progress
    _reached: Set[CommitId] | None = None
    """Commits that something leads to. `None` if this is unknown."""
    _read: bool = False

    def lacks(self, commit: str, run: ObjectId) -> bool:
        """Return true if a run does not exist, and nothing has ever led to the commit that refers to it."""
        if self.stores.kv.get(*keys.stored_object(self.repository, run)) is not None:
            return False
        if self.repository.bare:
            return True
        if not self._read:
            record = CollectionRecord(self.stores, self.repository)
            plan = CollectionPlan(dry_run=True)
            self._reached = UnreachedCommits(self.stores, self.repository, plan, record, self.progress).reached()
            self._read = True
        return self._reached is not None and commit not in self._reached
