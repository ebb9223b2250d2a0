"""Views for the tests of the cleaner: remaining rows and files, and current records."""

from __future__ import annotations

from datetime import timedelta

from graveler_core.engine.cleaning import Cleaned, CleaningPlan, clean
from graveler_core.facade.branch import Branch
from graveler_core.kv.store import Store
from graveler_core.model.compaction import Counted, StagedCounts
from graveler_core.model.entities import Cleanup, DeletedRepository, NamespaceClaim, RepositoryRecord
from graveler_core.model.ids import BranchId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.staging.stack import layers_of
from tests.unit.engine.flows import table
from tests.unit.engine.world import World, entry

AT_ONCE = CleaningPlan(undelete_within=timedelta(0))
"""Deleted repositories are taken as soon as nobody writes to them any more."""
WEEKS = timedelta(days=15)


def fill(world: World, name: str = "repo") -> Branch:
    """Committed entries, a compacted tree, and staged layers of every kind."""
    main = world.branch(repo=name)
    for number in range(4):
        main.stage(f"k/{number}", entry(number))
    main.commit("four")
    main.stage("k/4", entry(4))
    main.compact()
    main.stage("k/5", entry(5))
    main.stage_many(table({"m/1": 11, "m/2": 12}))
    main.remove_prefix("none/")
    main.stage("k/6", entry(6))
    return main


def count(world: World, repo: RepositoryRecord, layer: str, branch: str = "main") -> Location[StagedCounts]:
    """A counter of a layer, wherever the layer is listed."""
    name = BranchId(branch)
    record = StagedCounts(
        repository=repo.id,
        uid=repo.uid,
        branch=name,
        layer=layer,
        counted=Counted(writes=1),
        since=world.clock.now(),
    )
    where = keys.COUNTS.at(f"{keys.counts_of_layer(repo.id, name, layer)}writer")
    access.write(world.kv, where, record)
    return where


def deleted(world: World, name: str = "repo") -> RepositoryRecord:
    """A repository that was filled and deleted."""
    fill(world, name)
    record = world.graveler().repository(name)._record
    world.graveler().delete_repository(name)
    return record


def cleaned(world: World, plan: CleaningPlan = AT_ONCE, kv: Store | None = None) -> Cleaned:
    """One walk, after the time for late writes."""
    world.clock.sleep(601)
    return clean(world.stores(kv), plan)


def partitions(world: World) -> set[str]:
    """The partitions that hold something."""
    found = world.kv._memory.partitions.items()
    return {name.decode() for name, rows in found if rows.keys}


def of_repository(world: World, repo: RepositoryRecord) -> set[str]:
    """What is left in the key-value store of a repository, staged data included."""
    own = f"{repo.id}-{repo.uid}"
    return {name for name in partitions(world) if name.startswith((own, f"{repo.id}/"))}


def staged_files(world: World, name: str = "repo") -> list[str]:
    """The files of layers in a repository's namespace."""
    return [blob.address for blob in world.blobs.at(world.namespace(name)).list("_graveler/staging/")]


def entry_of(world: World, repo: RepositoryRecord) -> DeletedRepository | None:
    held = access.read(world.kv, keys.deleted_repository(repo.id, repo.uid))
    return None if held is None else held.value


def claim_of(world: World, name: str = "repo") -> NamespaceClaim | None:
    held = access.read(world.kv, keys.namespace_claim(world.namespace(name)))
    return None if held is None else held.value


def recorded(world: World, repo: RepositoryRecord) -> dict[str, Cleanup]:
    """The cleanup records by layer."""
    return {name: held.value for name, held in access.scan(world.kv, keys.cleanups(repo))}


def listed(branch: Branch) -> set[str]:
    return {layer.id for layer in layers_of(branch.record())}
