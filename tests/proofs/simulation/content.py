"""The judge of content: all names of objects, read beside the engine.

At each deletion of an object, and at the end, nothing names what is gone. What a name leads to is what was written
first. The names are read from the records directly, and entries are decoded in an own way, so that an error in
`gc.named_addresses` cannot hide itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from graveler_core.codec.entry import entries
from graveler_core.codec.staged_record import decode_record
from graveler_core.committed.index.scan import scan as scan_index
from graveler_core.committed.scan import scan
from graveler_core.errors import Kind
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import CommitId
from graveler_core.model.layers import SealedToken, SegmentLayer
from graveler_core.objects import expired_commits
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.staging import segment_layer
from tests.proofs.simulation.history import History
from tests.proofs.simulation.observe import Observer, Unscheduled, layers
from tests.proofs.simulation.retirement import LEFT
from tests.proofs.simulation.uploading import PURGE
from tests.proofs.simulation.world import SimBlobs, World

CONTENT = re.compile(r"(memory://.*)/data/[0-9a-f]{32}(/.*)?")
"""URIs of objects of users."""
UPLOADED = re.compile(r"data/[0-9a-f]{32}/.*")
"""Addresses of objects of uploads."""


class Name(NamedTuple):
    """An entry that names an object."""

    path: str
    size: int
    uri: str


@dataclass
class ContentJudge:
    """Watches the objects of users in all namespaces."""

    world: World
    observer: Observer
    history: History
    broken: list[str] = field(default_factory=list)
    """What was wrong at the moment when it was looked at."""
    deleted: int = 0
    _looked: set[bytes] = field(default_factory=set)
    _seen: set[CommitId] = field(default_factory=set)
    """Commits that a branch reached."""
    _homes: dict[str, set[CommitId]] = field(default_factory=dict)
    """The same, by the uids of their repositories."""
    _told: set[str] = field(default_factory=set)
    _expiries: dict[str, frozenset[str]] = field(default_factory=dict)
    _committed: dict[CommitId, frozenset[Name]] = field(default_factory=dict)
    _trees: dict[str, frozenset[Name]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.records = self.observer.records
        self.world.held.removing = self._removed

    def look(self) -> None:
        """Note the heads of all branches, and what has expired."""
        for repo in self._repositories():
            self._look_at_expired(repo)
            for row in self.world.kv.scan(keys.branches(repo).partition, prefix=keys.branches(repo).prefix):
                if row.value not in self._looked:
                    self._looked.add(row.value)
                    self._reach(repo, self.records.decoded(BranchRecord, row.value).commit_id)

    def all_have_ended(self, theme: str) -> None:
        """Look at the branch when all actors have ended."""

    def forgotten(self) -> Callable[[RepositoryRecord, Name], bool]:
        """Return the function that says whether an entry need not have content any more, because it was erased."""
        return lambda _repo, _name: False

    def names(self, *, seen: bool = False, expired: bool = False) -> dict[str, str]:
        """Return the URIs of all objects that something names, with what names each.

        Args:
            seen: Leave out commits that no branch ever reached: those of a call that has failed. A job deletes the
                objects of its upload if its commit has failed.
            expired: Include the names in expired commits. A rule may keep such a commit again, with what is left.
        """
        forgets = self.forgotten()
        found = self.named(seen=seen, expired=expired)
        return {name.uri: where for repo, name, where in found if not forgets(repo, name)}

    def named(self, *, seen: bool = False, expired: bool = False) -> Iterator[tuple[RepositoryRecord, Name, str]]:
        """Yield all entries that name an object, with their repositories and what contains them. Arguments as for
        `names`.
        """
        for repo in self._repositories():
            for _, branch in self.records.scan(keys.branches(repo)):
                for name in self._of_branch(repo, branch):
                    yield repo, name, f"branch {branch.id} of {repo.id}"
            gone = frozenset[str]() if expired else self._expired(repo)
            for id, _ in self.records.scan(keys.commit_layouts(repo)):
                if id not in gone and (not seen or id in self._seen):
                    for name in self._of_commit(repo, CommitId(id)):
                        yield repo, name, f"commit {id[:8]} of {repo.id}"

    def staged(self, repo: RepositoryRecord) -> Iterator[Name]:
        """Yield the names in the layers of all branches of a repository."""
        for _, branch in self.records.scan(keys.branches(repo)):
            yield from self._of_layers(repo, branch)

    def violations(self) -> Iterator[str]:
        """What content is gone, wrong, or left although nothing names it.

        A call that stalls may store content in a namespace that a cleaner has released. Nobody can find this content.
        """
        yield from self.broken
        yield from _uploads_lost(self.history)
        for repo in self._repositories():
            stored = {id for id, _ in self.records.scan(keys.commits(repo))}
            for id in sorted(self._homes.get(repo.uid, set()) - stored):
                yield f"commit {id[:8]} of {repo.id} was reached, and is gone"
        held, first = self.world.held, self.world.held.first
        named, seen = self.names(), self.names(seen=True)
        for at, who in named.items():
            if at in first and held.get(at) != first[at] and (at in seen or not _is_upload(at)):
                yield f"{at}, which {who} names, {'holds something else' if at in held else 'is gone'}"
        known = self.names(expired=True)
        abandoned = {uri for uri, _ in access.scan(self.world.kv, keys.ABANDONED)}
        owned = {one.value.storage_namespace for _, one in access.scan(self.world.kv, keys.REPOSITORIES)}
        cleaned = any(operation.kind == "clean" for operation in self.history.operations)
        for at in held:
            found = CONTENT.fullmatch(at)
            if found is None or at in known or found[1] in abandoned:
                continue
            if found[1] in owned or not cleaned:
                yield f"{LEFT}: nothing names {at}"

    def _removed(self, at: str) -> None:
        if CONTENT.fullmatch(at):
            self.deleted += 1
            who = self.names(seen=_is_upload(at)).get(at)
            if who is not None:
                step = self.world.scheduler.step
                self.broken.append(f"at step {step}, {self.world.scheduler.current} deletes {at}, which {who} names")

    def _repositories(self) -> Iterator[RepositoryRecord]:
        """All that exist, and all that can be restored."""
        entries = [entry for _, entry in self.records.scan(keys.DELETED_REPOSITORIES)]
        lost = {entry.repository.uid for entry in entries if entry.emptying}
        found = [repo for _, repo in self.records.scan(keys.REPOSITORIES)]
        found += [entry.repository for entry in entries]
        return (repo for repo in {repo.uid: repo for repo in found}.values() if repo.uid not in lost)

    def _expired(self, repo: RepositoryRecord) -> frozenset[str]:
        """Commits that have expired."""
        record = self.observer.read(keys.collections(repo.id, repo.uid))
        if record is None or record.expired is None:
            return frozenset()
        if record.expired.id not in self._expiries:
            blobs = SimBlobs(self.world.held, Unscheduled()).at(repo.storage_namespace)
            found = expired_commits.expired(blobs, record).column("commit").to_pylist()
            self._expiries[record.expired.id] = frozenset(found)
        return self._expiries[record.expired.id]

    def _look_at_expired(self, repo: RepositoryRecord) -> None:
        """A branch or tag names no commit that has expired: it kept it, or it was refused."""
        expired = self._expired(repo)
        if expired:
            for folder in (keys.branches(repo), keys.tags(repo)):
                for name, one in self.records.scan(folder):  # type: ignore[var-annotated]
                    if one.commit_id in expired and name not in self._told:
                        self._told.add(name)
                        self.broken.append(f"at step {self.world.scheduler.step}, {name} names an expired commit")

    def _reach(self, repo: RepositoryRecord, head: CommitId) -> None:
        ahead = [head]
        while ahead:
            commit = ahead.pop()
            if self._never_whole(repo, commit):
                continue
            if commit not in self._seen:
                self._seen.add(commit)
                self._homes.setdefault(repo.uid, set()).add(commit)
                ahead += self.observer.header(repo, commit).parents

    def _never_whole(self, repo: RepositoryRecord, commit: CommitId) -> bool:
        """Whether a commit is missing because a cleaner has emptied a repository that was about to be created."""
        now = self.observer.read(keys.repository(repo.id))
        gone = now is None or now.uid != repo.uid
        return gone and self.observer.read(keys.commit(repo, commit)) is None

    def _of_layers(self, repo: RepositoryRecord, branch: BranchRecord) -> Iterator[Name]:
        for layer in layers(branch):
            if isinstance(layer, SealedToken):
                rows = self.world.kv.scan(keys.staging(layer.token), prefix=keys.STAGED)
                yield from _names(repo, (decode_record(_path(row.key), row.value) for row in rows))
            elif isinstance(layer, SegmentLayer):
                blobs = SimBlobs(self.world.held, Unscheduled()).at(repo.storage_namespace)
                for table in segment_layer.scan(blobs, layer.id)[1]:
                    yield from _names(repo, entries(table))

    def _of_branch(self, repo: RepositoryRecord, branch: BranchRecord) -> Iterator[Name]:
        yield from self._of_layers(repo, branch)
        if branch.compacted_metarange is not None:
            yield from self._of_tree(repo, branch.compacted_metarange)

    def _of_tree(self, repo: RepositoryRecord, metarange: str) -> frozenset[Name]:
        if metarange not in self._trees:
            pages = scan(self.observer.trees(repo), metarange)  # type: ignore[arg-type]
            self._trees[metarange] = frozenset(_names(repo, (one for page in pages for one in entries(page))))
        return self._trees[metarange]

    def _of_commit(self, repo: RepositoryRecord, commit: CommitId) -> frozenset[Name]:
        if commit not in self._committed:
            pages = scan_index(self.observer.indexes(repo), self.observer.layout(repo, commit).index)
            self._committed[commit] = frozenset(_names(repo, (one for page in pages for one in entries(page))))
        return self._committed[commit]


def _uploads_lost(history: History) -> Iterator[str]:
    """Jobs whose objects were collected before they could name them, although nobody treated them as dead."""
    if any(operation.kind == PURGE for operation in history.operations):
        return
    for operation in history.operations:
        error = operation.error
        if error is not None and error.kind is Kind.ContentCollected and UPLOADED.fullmatch(error.details["address"]):
            yield f"{operation}: the objects of an upload in progress were collected"


def _is_upload(at: str) -> bool:
    found = CONTENT.fullmatch(at)
    return found is not None and found[2] is not None


def _path(key: bytes) -> str:
    return key.removeprefix(keys.STAGED).decode()


def uri_of(repo: RepositoryRecord, entry: Entry) -> str:
    """Return the URI of the object that an entry of a repository names."""
    own = entry.address_type is AddressType.RELATIVE
    return f"{repo.storage_namespace}/{entry.address}" if own else str(entry.address)


def _names(repo: RepositoryRecord, found: Iterable[Entry | None]) -> Iterator[Name]:
    for entry in found:
        if entry is not None and entry.address is not None:
            yield Name(entry.path, entry.size, uri_of(repo, entry))
