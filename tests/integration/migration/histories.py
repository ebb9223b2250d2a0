"""Repositories of a source, made by hand, and what they hold by a model of dicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from typing import Any

from benchmarks.lifecycle.sources import entry, insert, opened
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.codec.entry import normalise
from graveler_core.committed.apply import apply
from graveler_core.committed.trees import Trees
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.model.ids import MetarangeId
from graveler_core.transfer.migration.report import Migrated
from tests.unit.engine.flows import table
from tests.unit.engine.world import START, TINY, World

State = dict[str, int]
"""Path to the number of its entry."""


def commit_id(number: int) -> str:
    """As long as those of other programs."""
    return f"{number:064x}"


@dataclass
class Lake:
    """A source, and the store that it is migrated into."""

    url: str
    world: World = field(default_factory=World)
    seed: int = 0

    def insert(self, name: str, *rows: Mapping[str, Any]) -> None:
        """Rows into a table of the source."""
        with opened(self.url) as connection:
            insert(connection, name, rows)

    def sql(self, statement: str) -> None:
        """A statement in the source."""
        with opened(self.url) as connection:
            connection.exec_driver_sql(statement)

    def migrate(self, *names: str, **options: Any) -> Migrated:
        """A run of a new process."""
        return self.world.graveler().migrate_from(self.url, names, **{"boundary_seed": self.seed, **options})

    def graveler(self) -> Graveler:
        """A new process."""
        return self.world.graveler()

    def graveler_on(self, kv: Store) -> Graveler:
        """A new process on a wrapper of the store."""
        return self.world.graveler(kv)

    def differences(self, *names: str) -> list[str]:
        """What a verification finds."""
        return [str(found) for found in self.graveler().verify_against(self.url, names)]

    def history(self, name: str = "flights") -> History:
        """A repository that is about to be made."""
        return History(self, name)


@dataclass
class History:
    """A repository of a source: its rows come as it is made."""

    lake: Lake
    name: str
    states: dict[int, State] = field(default_factory=dict)
    """By number of the commit."""
    branches: dict[str, State] = field(default_factory=dict)
    tags: dict[str, State] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return self.lake.world.namespace(self.name)

    def repository(self, **values: Any) -> History:
        """Its row."""
        row = {
            "id": self.name,
            "storage_namespace": self.namespace,
            "creation_date": START,
            "default_branch": "main",
        }
        self.lake.insert("graveler_repositories", {**row, **values})
        return self

    def tree(self, state: State) -> MetarangeId:
        """A tree of a state, written into the namespace."""
        blobs = self.lake.world.blobs.at(self.namespace)
        root, objects = _tree(self.lake.seed, tuple(sorted(state.items())))
        for address, data in objects.items():
            blobs.create(address, data)
        return root

    def commit(self, number: int, parents: Iterable[int] = (), state: State | None = None, **values: Any) -> History:
        """A commit; without content it names no tree."""
        self.states[number] = state or {}
        row = {
            "repository_id": self.name,
            "id": commit_id(number),
            "committer": "ann",
            "message": f"commit {number} \N{SNOWMAN}",
            "creation_date": START + timedelta(days=number),
            "meta_range_id": "" if not state else self.tree(state),
            "metadata": {"number": str(number), "é": "ü"},
            "parents": [commit_id(parent) for parent in parents],
            "version": 1,
            "generation": None,
        }
        self.lake.insert("graveler_commits", {**row, **values})
        return self

    def branch(self, name: str, number: int, staged: Mapping[str, int | None] | None = None, **values: Any) -> History:
        """A branch, with what is staged on it: numbers of entries, None for tombstones."""
        token = None if staged is None else f"{self.name}-{name}:token"
        row = {"repository_id": self.name, "id": name, "staging_token": token, "commit_id": commit_id(number)}
        self.lake.insert("graveler_branches", {**row, **values})
        shown = dict(self.states.get(number, {}))
        for path, found in (staged or {}).items():
            shown.pop(path, None)
            if found is not None:
                shown[path] = found
        self.branches[name] = shown
        self.stage(token or "", staged or {})
        return self

    def stage(self, token: str, staged: Mapping[str, int | None]) -> None:
        """Staged rows."""
        rows = [
            {
                "staging_token": token,
                "key": path.encode(),
                "identity": None if number is None else b"theirs",
                "data": None if number is None else entry(number),
            }
            for path, number in staged.items()
        ]
        self.lake.insert("graveler_staging_kv", *rows)

    def tag(self, name: str, number: int) -> History:
        """A tag."""
        self.lake.insert("graveler_tags", {"repository_id": self.name, "id": name, "commit_id": commit_id(number)})
        self.tags[name] = self.states[number]
        return self

    def migrated(self) -> Repository:
        """What it became, in a new process."""
        return self.lake.graveler().repository(self.name)

    def on(self, lake: Lake) -> History:
        """The same, migrated into another store."""
        return replace(self, lake=lake)

    def assert_migrated(self, *, deep: bool = True) -> None:
        """All of it is there, and nothing else."""
        repo = self.migrated()
        assert {branch.id: shown(repo, branch.id) for branch in repo.branches()} == self.branches
        assert {tag.id: shown(repo, tag.id) for tag in repo.tags()} == self.tags
        assert {item.origin for item in self.lake.graveler().migrated_ids(self.name)} == {
            commit_id(number) for number in self.states
        }
        assert len(list(repo.commits())) == len(self.states)
        assert not [finding for finding in repo.fsck(deep=deep) if finding.damage]
        assert self.lake.differences(self.name) == []


@cache
def _tree(seed: int, state: tuple[tuple[str, int], ...]) -> tuple[MetarangeId, dict[str, bytes]]:
    """Build a tree once, and return its root and its objects: many histories have the same states."""
    blobs = OpenedBlobs().at(World().namespace())
    root = apply(Trees(blobs, seed, TINY), None, normalise(table(dict(state)))).metarange_id
    return root, {found.address: bytes(blobs.read(found.address)) for found in blobs.list()}


def shown(repo: Repository, ref: str) -> State:
    """What a ref shows, entries by their sizes."""
    return {found.path: found.size for found in repo.at(ref).list()}


def flights(lake: Lake) -> History:
    """A repository of some of everything: a merge of the old order of parents, a commit without content, tombstones."""
    first = {f"a/{number:03}": number for number in range(40)} | {"ä/\N{GRINNING FACE}": 1}
    second = first | {"b": 7}
    side = {**first, "a/003": 100}
    merged = {**second, "a/003": 100}
    made = lake.history().repository()
    made.commit(9).commit(3, [9], first).commit(5, [3], second).commit(4, [3], side)
    made.commit(1, [4, 5], merged, version=0).commit(2, [1, 4], merged | {"c": 8})
    made.branch("main", 2, {"a/001": None, "new": 11, "ü": 12, "gone": None})
    made.branch("side", 4).branch("empty", 9, {})
    return made.tag("v1", 5).tag("v0", 9)
