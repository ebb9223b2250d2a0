"""A process whose calls are counted, and what one of them spent.

The process has worked with its branches before: their records, and the commits, are in memory. Of trees and layers
nothing is: what is counted of objects is what a cold process pays, a warm one reads none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

from graveler_core.blobs.port import Blobs, Foreign
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.index.indexes import Sizes
from graveler_core.committed.trees import read_node
from graveler_core.engine.reading.view import commit_of
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.model.address import Namespace
from graveler_core.objects import owner_files
from graveler_core.segments.boundary import Cutting
from graveler_core.stores import Stores
from graveler_core.testing.counting_blobs import CountingBlobs
from graveler_core.testing.counting_store import Counting
from graveler_core.testing.plain_store import PlainStore
from tests.unit.engine.flows import table
from tests.unit.engine.world import World

CUTTING = Cutting(mean_entries=8, fan_out=3)
ENTRIES = 300
SCANS = ("scan", "scan_arrow")
VERBS = {"read": "read", "create": "written", "list": "listed", "delete": "removed", "head": "looked at"}


class Spent(NamedTuple):
    """What a call asked of the stores."""

    trips: int
    """Round trips to the key-value store besides scans."""
    scans: int
    """Scans, each of one page here."""
    objects: Mapping[str, int]
    """Requests to the object store, by what was asked for: "range read", "node written", "layer file removed", …"""


class CountedPlaces:
    """`BlobStores` that remembers every request."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._places: dict[str, CountingBlobs] = {}
        self.asked: list[tuple[str, str, str]] = []

    def at(self, namespace: str) -> Blobs:
        if namespace not in self._places:
            self._places[namespace] = CountingBlobs(self._world.blobs.at(namespace), partial(self._note, namespace))
        return self._places[namespace]

    def foreign(self, place: Namespace) -> Foreign:
        return self._world.blobs.foreign(place)

    def objects(self) -> Counter[str]:
        """Requests by what was asked for."""
        return Counter(f"{self._what(place, address)} {VERBS[verb]}" for place, verb, address in self.asked)

    def _note(self, namespace: str, verb: str, address: str) -> None:
        self.asked.append((namespace, verb, address))

    def _what(self, namespace: str, address: str) -> str:
        if address.startswith("_graveler/staging/"):
            return "layer file"
        if not address.startswith("_graveler/"):
            return "content"
        if address.startswith(owner_files.PREFIX):
            return "owner file"
        if address.endswith("/"):
            return "namespace"
        return "range" if self._world.blobs.at(namespace).read_range(address, 0, 4) == b"PAR1" else "node"


class Trees(TreeCache):
    """What a process has in memory of trees and layers, until it forgets."""

    def forget(self) -> None:
        TreeCache.__init__(self)


class Measured:
    """A repository with a tree of many ranges, two branches of equal content, and a process to be counted.

    `graveler`, `repo`, `main` and `dev` are its handles; `unseen` is the same process, not counted, for preparations.
    """

    def __init__(self, *, plain: bool = False) -> None:
        self.world = _prepared().fork()
        self.kv = Counting(self.world.kv)
        store = PlainStore(self.kv) if plain else self.kv
        self.places = CountedPlaces(self.world)
        self._trees = Trees()
        self.stores = replace(_stores(self.world, store), blobs=self.places, ranges=self._trees)
        self.graveler = Graveler(self.stores)
        self.repo = self.graveler.repository("repo")
        self.main, self.dev = self.repo.branch("main"), self.repo.branch("dev")
        uncounted = replace(self.stores, kv=self.world.kv, blobs=self.world.blobs, ranges=TreeCache())
        self.unseen = Graveler(uncounted).repository("repo")
        for branch in (self.main, self.dev):
            branch.get(path(0))
        assert len(list(self.repo.log("main"))) == 2
        self.levels = self._levels()
        """Levels of nodes in the trees."""

    def other(self) -> Repository:
        """The repository, seen by another process."""
        return Graveler(_stores(self.world)).repository("repo")

    def newcomer(self) -> Repository:
        """The repository, seen by a process that is counted and knows nothing yet."""
        return Repository(replace(_stores(self.world, self.stores.kv), blobs=self.places), self.repo._record)

    def spent(self, act: Callable[[], object]) -> Spent:
        """What a call asks for, of a process that has no tree in memory."""
        self._trees.forget()
        self.kv.reset()
        self.places.asked.clear()
        act()
        scans = sum(self.kv.counts[verb] for verb in SCANS)
        return Spent(self.kv.round_trips - scans, scans, self.places.objects())

    def _levels(self) -> int:
        repository = self.repo._record
        tree = commit_of(self.stores, repository, self.main.record().commit_id).layout.index.metarange_id
        return read_node(self.stores.trees(repository), tree).level + 1


@cache
def _prepared() -> World:
    world = World()
    main = Graveler(_stores(world)).create_repository("repo", world.namespace()).branch("main")
    main.stage_many(table({path(number): number for number in range(ENTRIES)}))
    main.commit("first")
    Graveler(_stores(world)).repository("repo").create_branch("dev", "main")
    return world


def _stores(world: World, kv: Store | None = None) -> Stores:
    return replace(world.stores(kv), cutting=CUTTING, sizes=Sizes(small_elements=50), ranges=TreeCache())


def path(number: int) -> str:
    """The path of one of the entries."""
    return f"k/{number:04}"
