"""A repository with objects of every kind, which checks of data read and tests damage."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.codec.entry import record_table
from graveler_core.engine.staging import bulk
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Finding, Trouble
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.world import World
from tests.unit.gc.places import BULK


class CheckedLake:
    """A repository whose objects are files. Its entries are committed, compacted, and staged in rows and in files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.world = World(blobs=OpenedBlobs(durable=False))
        self.world.graveler().create_repository("repo", (root / "lake").as_uri())
        self.entries: dict[str, Entry] = {}
        """An entry of each object."""
        main = self.repo.branch("main")
        for number in range(3):
            self.put(main, f"inline/{number}")
            main.commit(f"inline {number}")
        self.repo.create_branch("work", "main")
        self.stage_many("main", "ranges", 40)
        main.commit("ranges")
        work = self.repo.branch("work")
        self.put(work, "compacted")
        work.compact()
        self.put(work, "staged")
        self.stage_many("work", "bulk", BULK)
        self.repo.create_branch("gone", "main")
        self.put(self.repo.branch("gone"), "unreachable")
        self.repo.branch("gone").commit("unreachable")
        self.repo.delete_branch("gone")

    @property
    def repo(self) -> Repository:
        return self.world.graveler().repository("repo")

    @property
    def record(self) -> RepositoryRecord:
        held = access.read(self.world.kv, keys.repository(self.repo.id))
        assert held is not None
        return held.value

    def put(self, branch: Branch, path: str) -> None:
        self.entries[path] = branch.put(path, f"content of {path}".encode())

    def stage_many(self, branch: str, directory: str, count: int) -> None:
        rows = []
        for number in range(count):
            path, content = f"{directory}/{number:04}", f"{directory} {number:04}".encode()
            if number < 40 or number % 100 == 0:
                checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
                address = f"data/{directory}/{number}"
                entry = Entry(address=address, size=len(content), checksum=checksum, path=path)
                self.entries[path] = entry
                self.file(path).parent.mkdir(parents=True, exist_ok=True)
                self.file(path).write_bytes(content)
            rows.append((path.encode(), replace(entry, path=path)))
        bulk.stage_records(self.world.stores(), self.record.id, BranchId(branch), record_table(rows))

    def file(self, path: str) -> Path:
        return self.root / "lake" / str(self.entries[path].address)

    def found(self, *, checksums: bool = False) -> list[Finding]:
        return [
            finding
            for finding in self.repo.fsck(data=not checksums, checksums=checksums)
            if finding.trouble is not Trouble.UNREACHABLE
        ]
