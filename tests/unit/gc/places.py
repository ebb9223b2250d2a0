"""A repository with things of every kind, on a store in memory and files that a test can damage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.codec.entry import record_table
from graveler_core.codec.records import encode
from graveler_core.engine.staging import bulk
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Finding
from graveler_core.gc.fsck import fsck
from graveler_core.model.entities import Commit, Layout, RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.objects.commits import CommitCache, StoredCommit, prepare, read_commit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores
from tests.unit.engine.world import World, entry

BULK = 1_200
"""Records of a bulk write: more than those that stay rows."""


@dataclass
class Place:
    """A world whose storage namespace is a directory."""

    root: Path
    world: World = field(default_factory=lambda: World(blobs=OpenedBlobs(durable=False)))

    @property
    def stores(self) -> Stores:
        """Those of a process that has read nothing yet."""
        return replace(self.world.stores(), commits=CommitCache())

    @property
    def repo(self) -> RepositoryRecord:
        return access.read(self.world.kv, keys.repository(self.handle.id)).value  # type: ignore[union-attr]

    @property
    def handle(self) -> Repository:
        return self.world.graveler().repository("repo")

    @property
    def files(self) -> list[Path]:
        """All files of graveler in the storage namespace, except for that of the owner."""
        found = (path for path in (self.root / "_graveler").rglob("*") if path.is_file())
        return sorted(path for path in found if path.parent.name != "owners")

    def file(self, id: str) -> Path:
        return self.root / "_graveler" / id

    def main(self) -> Branch:
        return self.handle.branch("main")

    def found(self, *, deep: bool = False) -> list[Finding]:
        """What a check finds."""
        return list(fsck(self.stores, self.repo, deep=deep))

    def damage(self, *, deep: bool = False) -> list[tuple[str, str, str]]:
        """What is damaged: trouble, thing and id of each."""
        return [(f.trouble.value, f.thing.value, f.id) for f in self.found(deep=deep) if f.damage]

    def commit(self, id: str) -> StoredCommit:
        return read_commit(self.world.kv, CommitCache(), self.repo, CommitId(id))

    def write(self, header: Commit, layout: Layout) -> CommitId:
        """Store a commit that no flow would make."""
        commit, writes = prepare(self.repo, header, layout)
        for write in writes:
            self.world.kv.set(*write)
        return commit.id

    def move(self, branch: str, commit: CommitId) -> None:
        """Have a branch show a commit."""
        where = keys.branch(self.repo, BranchId(branch))
        held = access.read(self.world.kv, where)
        assert held is not None
        self.world.kv.set(where.partition, where.key, encode(held.value.model_copy(update={"commit_id": commit})))


def create(root: Path) -> Place:
    """An empty repository."""
    place = Place(root)
    place.world.graveler().create_repository("repo", root.as_uri())
    return place


def fill(place: Place) -> None:
    """Commits of every shape, a merge, a tag, a compacted tree, and what is staged as rows and as files."""
    main = place.main()
    for number in range(3):
        main.stage(f"small/{number}", entry(number))
        main.commit(f"inline {number}")
    place.handle.create_tag("v1", "main")
    table = record_table([(b"many/%04d" % n, replace(entry(n), path=f"many/{n:04}")) for n in range(60)])
    bulk.stage_records(place.stores, place.repo.id, BranchId("main"), table)
    main.commit("ranges")
    dev = place.handle.create_branch("dev", "main")
    for number in range(40):
        dev.stage(f"dev/{number:02}", entry(number))
        if number == 5:
            for other in range(7):
                dev.stage(f"own/{other}", entry(other))
        dev.commit(f"change {number}")
    main.stage("small/0", entry(9))
    main.commit("beside")
    place.handle.merge("dev", into="main")
    work = place.handle.create_branch("work", "v1")
    work.stage("compacted", entry(1))
    work.compact()
    work.stage("staged", entry(2))
    bulk.stage_records(place.stores, place.repo.id, BranchId("work"), bulk_table())


def bulk_table() -> pa.Table:
    return record_table([(b"bulk/%04d" % n, replace(entry(n), path=f"bulk/{n:04}")) for n in range(BULK)])
