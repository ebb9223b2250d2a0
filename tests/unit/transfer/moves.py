"""A repository of some of everything and its dump, and what two repositories must have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count, islice

from graveler_core.engine.references.events import fold
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.model.compaction import Thresholds
from graveler_core.model.migration import MigratedCommit, Migration
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.transfer.dump import Dumped
from graveler_core.transfer.files import dump_file
from tests.golden.history import NAME, NAMESPACE, Expected, play
from tests.unit.engine.world import START, CountedIds, World


class OtherIds(CountedIds):
    """Another world's: boundaries fall elsewhere."""

    def seed(self) -> int:
        return 8


_number = count()
PLACE = "memory://dumps"


@dataclass(frozen=True)
class Original:
    """A repository and its dump."""

    world: World
    expected: Expected
    dumped: Dumped
    data: bytes

    @property
    def repo(self) -> Repository:
        return self.world.graveler().repository(NAME)


def original() -> Original:
    """The repository of the golden files, with thresholds, rules, records of a migration, and a log of references of
    which a part waits.
    """
    world = World()
    expected = play(world)
    repo = world.graveler().repository(NAME)
    repo.set_thresholds(Thresholds(layers=7))
    repo.set_thresholds(Thresholds(layers=8), "work")
    repo.protect("release-*", ("write",))
    for number in range(3):
        for name in ("lost", f"lost-{number}"):
            repo.create_branch(name, "main~1").hard_reset("main")
            repo.delete_branch(name, by="ann", message=f"for the {number}th time")
        fold(world.stores(), repo._record)
    # One event makes a run in the key-value store; those above make files.
    brief = repo.create_branch("brief", "main~1")
    fold(world.stores(), repo._record)
    brief.hard_reset("main")
    repo.delete_branch("brief")
    repo.create_branch("lost-3", "main")
    repo.delete_branch("lost-3")
    _migrated(world, repo)
    dumped = repo.dump_refs(fresh_uri())
    return Original(world, expected, dumped, content(world, dumped.uri))


def _migrated(world: World, repo: Repository) -> None:
    """The records that a migration of some commits would have left."""
    access.write(world.kv, keys.migration(repo._record), Migration(digest="ab" * 32, since=START))
    for number, commit in enumerate(islice(repo.log("main"), 3)):
        where = keys.migrated_commits(repo._record).at(f"é{number}")
        access.write(world.kv, where, MigratedCommit(commit_id=commit.id))


def fresh_uri() -> str:
    return f"{PLACE}/{next(_number)}.dump"


def content(world: World, uri: str) -> bytes:
    file = dump_file(world.blobs, uri)
    return file.blobs.read(file.address)


def kept(world: World, data: bytes) -> str:
    """The URI of an object of these bytes."""
    uri = fresh_uri()
    file = dump_file(world.blobs, uri)
    assert file.blobs.create(file.address, data)
    return uri


def elsewhere(made: Original, kv: Store | None = None) -> World:
    """Another store beside the same objects."""
    world = World(ids=OtherIds()) if kv is None else World(kv=kv, ids=OtherIds())
    world.ids.skip(1_000_000)
    return replace(world, blobs=made.world.blobs)


def bare(world: World, name: str = NAME) -> Repository:
    """A bare repository where the original keeps its objects."""
    return world.graveler().create_bare_repository(name, NAMESPACE, adopt=True, ephemeral=True)


def shown(repo: Repository, ref: str) -> dict[str, int]:
    return {e.path: e.size for e in repo.at(ref).list()}


def require_alike(made: Original, repo: Repository) -> None:
    """What a restored repository has in common with the original."""
    theirs = made.repo
    heads = {branch.id: branch.commit_id for branch in theirs.branches()}
    assert {branch.id: branch.commit_id for branch in repo.branches()} == heads
    assert list(repo.tags()) == list(theirs.tags())
    for ref in ("main", "v1", *heads):
        assert list(repo.log(f"{ref}@" if ref in heads else ref)) == list(
            theirs.log(f"{ref}@" if ref in heads else ref)
        )
    for ref in ("main~3", "v1", "main", "work@"):
        assert shown(repo, ref) == made.expected.states[ref]
        assert repo.at(ref).tree_id() == theirs.at(ref).tree_id()
    assert repo.thresholds() == theirs.thresholds()
    assert repo.default_branch == theirs.default_branch
    assert list(repo.reflog()) == list(theirs.reflog())
    for name in ("main", "side", "lost", "v1"):
        assert list(repo.reflog(name)) == list(theirs.reflog(name))
    assert repo.protection() == theirs.protection()
    assert not [finding for finding in repo.fsck(deep=True) if finding.damage]
