"""Names from which data is reached: branches, tags, staged layers, idempotency keys; and the claim of the storage
namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from graveler_core.codec.records import decode
from graveler_core.errors import CorruptData
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.stock import Progress
from graveler_core.kv.store import Store
from graveler_core.model.entities import BranchRecord, Cleanup, Record, RepositoryRecord, Tag
from graveler_core.model.ids import CommitId, RepositoryUid
from graveler_core.model.layers import SealedToken
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder
from graveler_core.staging import area
from graveler_core.staging.stack import layers_of

R = TypeVar("R", bound=Record)


@dataclass(slots=True)
class RootRecords:
    """Records from which everything else is reached, as they were at the last reading."""

    kv: Store
    repository: RepositoryRecord
    progress: Progress
    branches: dict[str, BranchRecord] = field(default_factory=dict)
    tags: dict[str, Tag] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    """Ids of the current and former layers of branches."""
    log_head: CommitId | None = None
    """Head of the log of references."""
    blind: bool = False
    """True if a record could not be read, so that the reachable items are not completely known."""
    _told: set[str] = field(default_factory=set)

    def read(self) -> Iterator[Finding]:
        """Read the current branches and tags. Yield problems."""
        self.branches, self.tags = {}, {}
        yield from self._folder(keys.branches(self.repository), Thing.BRANCH, self.branches.__setitem__)
        yield from self._folder(keys.tags(self.repository), Thing.TAG, self.tags.__setitem__)
        yield from self._log_head()
        for branch in self.branches.values():
            self.listed.update(layer.id for layer in layers_of(branch))

    def default_branch(self) -> Iterator[Finding]:
        """Yield a finding if the default branch, which cannot be deleted, does not exist."""
        name = self.repository.default_branch
        where = keys.branch(self.repository, name)
        if not self.repository.bare and self.kv.get(where.partition, where.key) is None:
            yield Finding(Trouble.MISSING, Thing.BRANCH, name, "is missing", f"repository {self.repository.id}")

    def heads(self) -> Iterator[tuple[CommitId, str]]:
        """Yield the heads of branches and tags, each with a description of its reference."""
        for name, branch in self.branches.items():
            yield branch.commit_id, f"branch {name}"
        for name, tag in self.tags.items():
            yield tag.commit_id, f"tag {name}"

    def log(self) -> Iterator[tuple[CommitId, str]]:
        """Yield the newest commit of the log of references, if there is one."""
        if self.log_head is not None:
            yield self.log_head, "the log of references"

    def waiting(self) -> Iterator[Finding]:
        """Read the events that are not in the log of references yet, and the former heads. Yield problems."""
        yield from self._folder(keys.former_heads(self.repository), Thing.REFERENCE_LOG, lambda name, head: None)
        yield from self._folder(keys.pending_events(self.repository), Thing.REFERENCE_LOG, lambda name, event: None)

    def claim(self, owners: Collection[RepositoryUid]) -> Iterator[Finding]:
        """Yield a finding unless this repository alone owns its storage namespace.

        Args:
            owners: Repositories that have an owner file in the namespace.
        """
        uri = self.repository.storage_namespace
        for uid in sorted({*owners} - {self.repository.uid}):
            why = f"belongs to repository {uid} of another store ({owner_files.address(uid)})"
            yield Finding(Trouble.INCONSISTENT, Thing.NAMESPACE, uri, why, f"repository {self.repository.id}")
        try:
            held = access.read(self.kv, keys.namespace_claim(uri))
        except CorruptData as e:
            yield Finding(Trouble.CORRUPT, Thing.NAMESPACE, uri, e.message, f"repository {self.repository.id}")
            return
        if held is None:
            yield Finding(Trouble.MISSING, Thing.NAMESPACE, uri, "is not claimed", f"repository {self.repository.id}")
        elif held.value.owner != self.repository.uid:
            why = f"belongs to repository {held.value.repository}"
            yield Finding(Trouble.INCONSISTENT, Thing.NAMESPACE, uri, why, f"repository {self.repository.id}")

    def left_behind(self, before: datetime) -> Iterator[Finding]:
        """Yield findings for tokens from before a moment that contain records, wait for the cleaner, and have no
        branch."""
        found: dict[str, Cleanup] = {}
        yield from self._folder(keys.cleanups(self.repository), Thing.LAYER, found.__setitem__)
        for id, cleanup in found.items():
            layer = cleanup.layer
            if id in self.listed or not isinstance(layer, SealedToken) or cleanup.since >= before:
                continue
            if not area.is_empty(self.kv, layer.token):
                yield Finding(Trouble.UNREACHABLE, Thing.LAYER, id, "no branch lists it, but it contains records")

    def _log_head(self) -> Iterator[Finding]:
        try:
            held = access.read(self.kv, keys.reference_log(self.repository))
        except CorruptData as e:
            self.blind = True
            if e.message not in self._told:
                self._told.add(e.message)
                yield Finding(Trouble.CORRUPT, Thing.REFERENCE_LOG, "refs", e.message)
            return
        self.log_head = None if held is None else held.value.commit_id

    def _folder(self, folder: Folder[R], thing: Thing, keep: Callable[[str, R], None]) -> Iterator[Finding]:
        for row in self.kv.scan(folder.partition, prefix=folder.prefix):
            name = row.key.removeprefix(folder.prefix).decode(errors="backslashreplace")
            try:
                keep(name, decode(folder.model, row.value, f"{thing} {name}"))
            except CorruptData as e:
                self.blind |= thing is not Thing.LAYER
                if e.message not in self._told:
                    self._told.add(e.message)
                    yield Finding(Trouble.CORRUPT, thing, name, e.message, size=len(row.value))
            self.progress(1)
