"""One store with several handles on it, the model beside it, and a judge of what calls give."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, TypeVar

from graveler_core.blobs import open as blob_stores
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.committed.cache import TreeCache
from graveler_core.errors import GravelerError
from graveler_core.facade.branch import Branch as BranchHandle
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.history import CommitRecord
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.model.entry import CommonPrefix, Entry
from graveler_core.stores import Stores
from tests.old_paths import any_path
from tests.proofs.differential import thresholds
from tests.proofs.differential.model import Branch, Commit, Refusal, Refusals, Repo
from tests.proofs.differential.names import Names
from tests.proofs.differential.values import Content, Value

T = TypeVar("T")
START = datetime(2026, 1, 1, tzinfo=UTC)
REPOSITORY = "lake"


class Mismatch(AssertionError):
    """The library and the model differ."""


@dataclass
class Clock:
    """A clock that moves by a few microseconds at each look, and by days when it is told to."""

    random: Random
    since: timedelta = timedelta(0)

    def now(self) -> datetime:
        self.since += timedelta(microseconds=self.random.randint(1, 9))
        return START + self.since

    def monotonic(self) -> float:
        return self.since.total_seconds()

    def sleep(self, seconds: float) -> None:
        self.since += timedelta(seconds=seconds)

    def wall(self) -> float:
        """The time of blobs: their stores have the machine's clock."""
        return time.time() + self.since.total_seconds()


@dataclass
class Ids:
    """Ids that a seed decides."""

    random: Random

    def fresh(self) -> str:
        return f"{self.random.getrandbits(128):032x}"

    def seed(self) -> int:
        return self.random.getrandbits(64)

    def uniform(self) -> float:
        return self.random.random()


class AtOnce:
    """An executor without threads, so that a seed decides everything."""

    def map(self, work: Callable[[Any], Any], items: Any) -> Iterator[Any]:
        return map(work, items)

    def ahead(self, items: Any) -> Iterator[Any]:
        return iter(items)


@dataclass
class Handle:
    """A handle with caches and sizes of its own, as a process has; branches stay open on it."""

    graveler: Graveler
    constants: dict[str, int]
    repo: Repository = field(init=False)
    branches: dict[str, BranchHandle] = field(default_factory=dict)


@dataclass(frozen=True)
class Shape:
    """How large an episode is."""

    steps: int
    paths: int
    rows: int
    """Of the largest batch."""


class World:
    """An episode: handles, model, and what steps draw from."""

    def __init__(self, kvs: list[Store], namespace: str, seed: str, shape: Shape) -> None:
        random = Random(f"{seed}/world")
        self.seed, self.shape, self.namespace = seed, shape, namespace
        self.clock, self.ids = Clock(Random(f"{seed}/clock")), Ids(Random(f"{seed}/ids"))
        self.cutting = thresholds.cutting(random, large=shape.rows >= 2_000)
        self.names = Names(random, shape.paths)
        self.constants = thresholds.Constants()
        self.handles = [self.handle(kv, random) for kv in kvs]
        self.uses = 0
        self.said: tuple[Any, ...] = ()
        self.key_since: dict[str, datetime] = {}
        """When an idempotency key was first given."""
        self.objects: dict[str, tuple[bytes, Value | None]] = {}
        """What lies in the place that is imported from."""
        self.contents: dict[str, tuple[Entry, bytes]] = {}
        """Content that was stored, with an entry for it, by address."""
        self.identities: dict[tuple[object, ...], bytes] = {}
        self.trees: dict[str, Content] = {}
        created = self.handles[0].graveler.create_repository(REPOSITORY, namespace, ephemeral=True)
        self.reopen()
        root = created.commit("main")
        self.model = Repo(self.commit_of(root, {}, {}), "main")

    def forget_keys(self) -> None:
        """Use no idempotency key again that a cleaner may forget: it keeps them for a week."""
        for key in [*self.model.keys]:
            if self.clock.now() - self.key_since[key] > timedelta(days=6):
                del self.model.keys[key]

    def handle(self, kv: Store, random: Random) -> Handle:
        """Another process on a store."""
        stores = Stores(
            kv=kv,
            blobs=OpenedBlobs(),
            clock=self.clock,
            ids=self.ids,
            executor=AtOnce(),
            cutting=self.cutting,
            sizes=thresholds.sizes(random),
            ranges=TreeCache(random.choice((0, 2_000, 256 << 20))),
            wall=self.clock.wall,
        )
        return Handle(Graveler(stores), thresholds.constants(random))

    def reopen(self) -> None:
        """Open the repository anew on each handle, and forget the branches."""
        for handle in self.handles:
            handle.repo, handle.branches = handle.graveler.repository(REPOSITORY), {}

    def close(self) -> None:
        """Give everything back."""
        self.constants.use({})
        for handle in self.handles:
            handle.graveler.close()
        for bucket in [name for name in blob_stores._memory if self.seed_name in name]:
            del blob_stores._memory[bucket]

    @property
    def seed_name(self) -> str:
        """A part of the name of each bucket of this world."""
        return self.namespace.removeprefix("memory://").partition("/")[0]

    def use(self, random: Random) -> Handle:
        """A handle, with its constants in force."""
        handle = random.choice(self.handles)
        self.constants.use(handle.constants)
        return handle

    def branch(self, handle: Handle, name: str) -> BranchHandle:
        """A branch, perhaps opened long ago."""
        if name not in handle.branches:
            handle.branches[name] = BranchHandle(handle.repo._stores, handle.repo._record, name)  # type: ignore[arg-type]
        return handle.branches[name]

    # Judging

    def attempt(self, may: Refusals, call: Callable[[], T]) -> T | None:
        """What a call gives, or None where it is refused as it may be."""
        try:
            with any_path():
                result = call()
        except GravelerError as error:
            self.require((type(error).__name__, str(error.kind)) in may, "refused", refusal_of(error), may, str(error))
            return None
        self.require(not may, "succeeded, and should be refused", result, may)
        return result

    def refused(self, may: Refusals, call: Callable[[], object]) -> GravelerError:
        """The error of a call that must be refused."""
        try:
            result = call()
        except GravelerError as error:
            self.require((type(error).__name__, str(error.kind)) in may, "refused", refusal_of(error), may, str(error))
            return error
        raise Mismatch(f"succeeded with {result!r}, and should be refused with one of {may}")

    def require(self, holds: object, *said: object) -> None:
        """Raise `Mismatch` unless something holds."""
        if not holds:
            raise Mismatch(" | ".join(shortened(repr(text)) for text in said))

    def equal(self, what: str, found: object, wanted: object) -> None:
        """Raise `Mismatch` where the library gives something else than the model."""
        if found != wanted:
            raise Mismatch(f"{what}: {differing(found, wanted)}")

    def value(self, entry: Entry) -> Value:
        """An entry as the model has it. Equal values have one identity, others have another."""
        value = Value(entry)
        known = self.identities.setdefault(value.own, entry.identity)
        self.require(known == entry.identity, "two identities", entry)
        return value

    def item(self, item: Entry | CommonPrefix) -> tuple[str, Value | None]:
        """An item of a listing."""
        return (item.path, None if isinstance(item, CommonPrefix) else self.value(item))

    def pair(self, change: Any) -> tuple[str, tuple[Value | None, Value | None]]:
        """A change of a difference, whose kind must fit."""
        kind = "added" if change.before is None else "removed" if change.after is None else "changed"
        self.require(change.kind == kind, "kind", change)
        return (change.path, (self.optional(change.before), self.optional(change.after)))

    def optional(self, entry: Entry | None) -> Value | None:
        """An entry, or none."""
        return None if entry is None else self.value(entry)

    def commit_of(self, record: CommitRecord, content: Content, before: Content) -> Commit:
        """A commit that the library made, with what the model says that it holds."""
        said = (record.message, record.committer, dict(record.metadata))
        return Commit(
            record.id, content, tuple(record.parents), record.generation, record.creation_date, *said, before
        )  # fmt: skip

    def made(self, branch: Branch, record: CommitRecord, content: Content, *parents: str) -> Commit:
        """Take a new head's commit into the model; its parents, generation and words must be right."""
        wanted = (branch.head, *parents)
        self.equal("parents", record.parents, wanted)
        self.equal("generation", record.generation, 1 + max(self.model.commits[id].generation for id in wanted))
        self.require(record.id not in self.model.commits, "a commit's id is another's", record)
        commit = self.commit_of(record, content, self.model.head(branch))
        self.model.add(commit)
        return commit


def refusal_of(error: GravelerError) -> Refusal:
    """Class and kind."""
    return (type(error).__name__, str(error.kind))


def shortened(text: str) -> str:
    """The text without what is repeated in it, and without its middle where it is long."""
    text = re.sub(r"(.{1,2}?)\1{40,}", lambda found: f"({found[1]}){{{len(found[0]) // len(found[1])}}}", text)
    return text if len(text) < 3_000 else f"{text[:1_500]} … {text[-1_500:]}"


def differing(found: Any, wanted: Any) -> str:
    """Where two answers differ, shortly."""
    if isinstance(found, list) and isinstance(wanted, list):
        at = next((n for n, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]), None)
        at = min(len(found), len(wanted)) if at is None else at
        head = f"{len(found)} items, and should be {len(wanted)}; they differ at {at}"
        return shortened(f"{head}: found {found[at : at + 2]}, should be {wanted[at : at + 2]}")
    return f"found {shortened(repr(found))}, should be {shortened(repr(wanted))}"
