"""A repository whose objects are files, for tests of collections."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.errors import NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.gc.collected import Collected
from graveler_core.gc.collection import collect
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.model.entities import RepositoryRecord
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World

NOW = CollectionPlan(timedelta(0), alone=True)


class Lake:
    """A repository whose objects are files, and a clock of its own."""

    def __init__(self, root: Path, world: World | None = None) -> None:
        self.root = root
        self.world = world or World(blobs=OpenedBlobs(durable=False))
        self.world.clock.time = datetime.now(UTC) + timedelta(minutes=1)  # later than the files of a slow test
        if world is None:
            self.world.graveler().create_repository("repo", root.as_uri())

    @property
    def repo(self) -> Repository:
        return self.world.graveler().repository("repo")

    @property
    def record(self) -> RepositoryRecord:
        held = access.read(self.world.kv, keys.repository(self.repo.id))
        assert held is not None
        return held.value

    def branch(self, name: str = "main") -> Branch:
        return self.repo.branch(name)

    def collect(self, plan: CollectionPlan | None = None, kv: Interposed | None = None) -> Collected:
        return collect(self.world.stores(kv), self.record, plan)

    def sleep(self, time: timedelta) -> None:
        self.world.clock.time += time

    @property
    def objects(self) -> set[str]:
        """Addresses of the users' objects."""
        found = (self.root / "data").rglob("*") if (self.root / "data").exists() else ()
        return {str(path.relative_to(self.root)) for path in found if path.is_file()}

    def missing(self) -> list[str]:
        """What a branch shows and cannot be read."""
        missing = []
        for branch in self.repo.branches():
            view = self.repo.branch(branch.id)
            for found in view.list():
                try:
                    view.read(found.path)
                except NotFound:
                    missing.append(f"{branch.id}/{found.path}")
        return missing
