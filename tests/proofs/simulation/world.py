"""The world that actors live in: stores whose every call is a scheduling point, logical time, repeatable chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Protocol, TypeVar

import greenlet

from graveler_core.blobs.foreign import ForeignFiles
from graveler_core.blobs.port import BlobInfo, Blobs, Data, Foreign
from graveler_core.committed.index.indexes import Sizes
from graveler_core.engine.compacting import index_maintenance as tending
from graveler_core.engine.references import events as reference_events
from graveler_core.errors import Kind, NotFound, OutcomeUnknown, SlowDown
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import KeyValue, Predicate, Store
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.model.address import Namespace, relative_address
from graveler_core.model.entities import RepositoryRecord
from graveler_core.objects.commits import CommitCache
from graveler_core.segments.boundary import Cutting
from graveler_core.staging.write_counts import WriteCounts
from graveler_core.stores import AtOnce, RegisterCache, RetryBudget, Stores
from tests.proofs.simulation.profiles import PROFILES
from tests.proofs.simulation.schedule import Fate, Scheduler

T = TypeVar("T")
U = TypeVar("U")
TINY = Cutting(mean_entries=2, max_bytes=1_500, fan_out=2)
TINY_SIZES = Sizes(
    inline_bytes=300,
    object_bytes=800,
    fan_out=2,
    fold_elements=5,
    fold_share=2,
    direct_share=2,
    small_elements=4,
    held_changes=6,
    few_keys=2,
)
"""A few commits make runs, merge them and fold them, and a large one goes to the metarange."""
RUNS = Sizes(
    inline_bytes=120,
    object_bytes=250,
    fan_out=3,
    fold_elements=3,
    fold_share=2,
    direct_share=1,
    small_elements=4,
    held_changes=6,
)
"""Nearly every commit makes a run, and there are several of them before they are merged and folded."""
SCAN_ROWS = 2
NEVER_LATE = ("create ", "delete _graveler/")


class Steps(Protocol):
    """What decides about each call: the scheduler, or something simpler."""

    def give_way(self, what: str, *, writes: bool) -> Fate: ...

    def answer(self) -> None: ...

    def later(self, what: str, work: Callable[[], object]) -> None: ...


class SimStore(Passing):
    """A key-value store of one process: the shared one, each call scheduled, each change observed."""

    def __init__(self, inner: Store, scheduler: Steps, changed: Callable[[], None]) -> None:
        super().__init__(inner)
        self._scheduler = scheduler
        self._changed = changed

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        """As ever; but a creation is never late. Late after a deletion it would bring back what was deleted, and no
        protocol can tell it from one that is on time.
        """
        what = f"{'create' if predicate is None else 'set_if'} {partition.decode()} {key.decode()}"
        work = partial(self.inner.set_if, partition, key, value, predicate)
        return befall(self._scheduler, what, True, work, self._changed)

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        what = f"{call.verb} {call.partition.decode()} {call.key.decode()}"
        return befall(self._scheduler, what, call.writes, work, self._changed)

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        """Pages of two rows, so that much can happen in the middle of one."""
        at, left = max(prefix, start), limit
        while left is None or left > 0:
            wanted = SCAN_ROWS if left is None else min(SCAN_ROWS, left)
            read = partial(self._page, partition, prefix, at, end, wanted)
            page = self.step(StoreCall("scan", partition, at), read)
            yield from page
            if len(page) < wanted:
                return
            at = page[-1].key + b"\0"
            left = None if left is None else left - len(page)

    def _page(self, partition: bytes, prefix: bytes, start: bytes, end: bytes | None, rows: int) -> list[KeyValue]:
        return list(self.inner.scan(partition, prefix=prefix, start=start, end=end, limit=rows))


def befall(scheduler: Steps, what: str, writes: bool, work: Callable[[], T], changed: Callable[[], None]) -> T:
    """Do a call, or let it meet its fate."""
    fate = scheduler.give_way(what, writes=writes)
    if fate is Fate.REFUSED:
        raise SlowDown(f"{what}: refused")
    if fate is Fate.LATE and not what.startswith(NEVER_LATE):
        scheduler.later(what, partial(_noted, work, changed))
    if fate in (Fate.LOST_REQUEST, Fate.LATE):
        raise OutcomeUnknown(f"{what}: lost")
    if not writes:
        result = work()
        scheduler.answer()
        return _unless_crashed(fate, result)
    result = _noted(work, changed)
    if fate is Fate.LOST_ANSWER:
        raise OutcomeUnknown(f"{what}: lost")
    return _unless_crashed(fate, result)


def _unless_crashed(fate: Fate, result: T) -> T:
    if fate is Fate.CRASH_AFTER:
        raise greenlet.GreenletExit
    return result


def _noted(work: Callable[[], T], changed: Callable[[], None]) -> T:
    try:
        return work()
    finally:
        changed()


class Held(dict[str, bytes]):
    """What an object store holds, and when each of it was written or renewed."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._now = now
        self.written: dict[str, datetime] = {}
        self.first: dict[str, bytes] = {}
        """What was written at each address first, also if it is gone."""
        self.removing: Callable[[str], object] = lambda at: None
        """Called before an object is removed."""

    def __setitem__(self, at: str, data: bytes) -> None:
        super().__setitem__(at, data)
        self.written[at] = self._now()
        self.first.setdefault(at, data)

    def remove(self, at: str) -> None:
        """Remove an object, if there is one."""
        if at in self:
            self.removing(at)
            del self[at]

    def touch(self, at: str) -> bool:
        """Make it young; False where there is none."""
        if at in self:
            self.written[at] = self._now()
        return at in self


class SimBlobs(Blobs):
    """An object store in a dictionary, each call scheduled; with a clock it knows how old each object is.

    A deletion is never late: one that comes after its caller has given up would take what somebody made anew, and no
    protocol can tell it from one that is on time. Of objects that are deleted together, each has its own fate.
    """

    deletes_at_once = 3

    def __init__(self, held: Held, scheduler: Steps, namespace: str = "") -> None:
        self._held = held
        self._scheduler = scheduler
        self._namespace = namespace

    def at(self, namespace: str) -> SimBlobs:
        """One storage namespace."""
        return SimBlobs(self._held, self._scheduler, namespace.rstrip("/") + "/")

    def foreign(self, place: Namespace) -> Foreign:
        """What nobody in a simulation imports from."""
        return ForeignFiles(place)

    def create(self, address: str, data: Data, *, sure: bool = False) -> bool:
        del sure  # an existing object never counts as new
        relative_address(address)
        return self._do(f"create {address}", lambda: self._create(self._namespace + address, bytes(data)), writes=True)

    def upload(self, address: str, parts: Iterable[Data]) -> None:
        self.create(address, b"".join(bytes(part) for part in parts))

    def presigned(self, address: str, seconds: int, *, upload: bool = False) -> str:
        raise AssertionError("no history signs URLs")

    def read(self, address: str) -> bytes:
        return self._do(f"read {address}", lambda: self._read(address))

    def chunks(self, address: str) -> Iterator[Data]:
        return iter((self.read(address),))

    def read_range(self, address: str, start: int, length: int) -> bytes:
        return self.read(address)[start : start + length]

    def head(self, address: str) -> BlobInfo | None:
        at = self._namespace + address
        return self._do(f"head {address}", lambda: self._info(address) if at in self._held else None)

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        return iter(self._do(f"list {prefix}", lambda: self._list(prefix, after)))

    def delete(self, address: str) -> None:
        self._do(f"delete {address}", lambda: self._held.remove(self._namespace + address), writes=True)

    def renew(self, address: str) -> bool:
        return self._do(f"renew {address}", lambda: self._held.touch(self._namespace + address), writes=True)

    def uri(self, address: str) -> str:
        return self._namespace + address

    def close(self) -> None:
        """Nothing is open."""

    def _do(self, what: str, work: Callable[[], T], *, writes: bool = False) -> T:
        return befall(self._scheduler, what, writes, work, lambda: None)

    def _create(self, at: str, data: bytes) -> bool:
        if at in self._held:
            return False
        self._held[at] = data
        return True

    def _read(self, address: str) -> bytes:
        found = self._held.get(self._namespace + address)
        if found is None:
            raise NotFound(f"object {address}: does not exist", kind=Kind.ObjectNotFound)
        return found

    def _list(self, prefix: str, after: str) -> Sequence[BlobInfo]:
        skip = len(self._namespace)
        found = sorted(at[skip:] for at in self._held if at.startswith(self._namespace + prefix))
        return [self._info(address) for address in found if address > after]

    def _info(self, address: str) -> BlobInfo:
        at = self._namespace + address
        return BlobInfo(address, len(self._held[at]), None, self._held.written[at])


@dataclass(slots=True)
class SimClock:
    """Logical time: a millisecond a step. No two readings are equal, as of a real clock next to none are."""

    scheduler: Scheduler
    _read: tuple[int, int] = (-1, 0)
    """When it was read last, and how often at this step."""

    def now(self) -> datetime:
        step, times = self._read
        self._read = self.scheduler.step, times + 1 if step == self.scheduler.step else 0
        return self.scheduler.moment() + timedelta(microseconds=self._read[1])

    def monotonic(self) -> float:
        return (self.scheduler.moment() - self.scheduler.moment(0)).total_seconds()

    def sleep(self, seconds: float) -> None:
        """Sleeping is giving way: how long is the scheduler's choice. Where all sleep, time passes quickly."""
        self.scheduler.sleep()


@dataclass(frozen=True, slots=True)
class SimIds:
    """Ids drawn from the history's own generator."""

    chance: random.Random

    def fresh(self) -> str:
        return f"{self.chance.getrandbits(128):032x}"

    def seed(self) -> int:
        return self.chance.getrandbits(64)

    def uniform(self) -> float:
        return self.chance.random()


class Serial:
    """An executor without threads: a history has one."""

    def map(self, work: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
        return map(work, items)

    def ahead(self, items: Iterable[T]) -> Iterator[T]:
        return iter(items)


class LeavesOut(AtOnce):
    """All is done at once, but for some work, which is left to others: as if the process had died before it."""

    def __init__(self, left_out: Collection[Callable[..., object]]) -> None:
        self._left_out = left_out

    def start(self, work: Callable[[], object]) -> None:
        """Now or never."""
        if getattr(work, "func", None) not in self._left_out:
            super().start(work)


@dataclass
class World:
    """What all processes share, and the stores of each of them."""

    scheduler: Scheduler
    shapes: Sizes | None = None
    """Of indexes, instead of what the seed draws."""
    idle: bool = False
    """Whether commits do not fold by themselves."""
    logs: bool = False
    """Whether what happens to references is written down beside. Else it is known from records and intents alone."""
    ages: bool = False
    """Whether copies of registers are as old as the clock of the history says. Else a copy is used for ever."""
    profile: str = ""
    """What the store can do (`profiles.PROFILES`), instead of what the seed draws."""
    changed: Callable[[], None] = lambda: None
    kv: Store = field(default_factory=lambda: open_memory("memory://"))

    def __post_init__(self) -> None:
        self._clock = SimClock(self.scheduler)
        self.held = Held(self._clock.now)
        self._ids = SimIds(random.Random(self.scheduler.chance.getrandbits(64)))
        self._writers = count()
        # Half of the histories run on a store that can do one key at a time and nothing more; half of both make runs.
        drawn = self.scheduler.chance.random()
        self.profile = self.profile or ("plain" if drawn < 0.5 else "")
        self.sizes = self.shapes or (RUNS if drawn * 2 % 1 < 0.5 else TINY_SIZES)

    def process(self) -> Stores:
        """The stores of a new process: nothing cached."""
        kv = SimStore(self.kv, self.scheduler, self._note)
        return Stores(
            kv=PROFILES[self.profile](kv) if self.profile else kv,
            blobs=SimBlobs(self.held, self.scheduler),
            clock=self._clock,
            commits=CommitCache(now=self._wall),
            registers=RegisterCache(now=self._wall) if self.ages else RegisterCache(),
            wall=self._wall,
            counts=WriteCounts(every=4, names=lambda: f"writer {next(self._writers)}"),
            ids=self._ids,
            executor=Serial(),
            background=LeavesOut(self._left_out()),
            cutting=TINY,
            sizes=self.sizes,
            retry_budget=RetryBudget(total=1e9),
        )

    def _left_out(self) -> list[Callable[..., object]]:
        notes = () if self.logs else (reference_events.take_note, reference_events.fold_by_chance)
        return [*notes, *((tending._fold,) if self.idle else ())]

    def filled(self, partitions: Callable[[RepositoryRecord], list[bytes]], repo: RepositoryRecord) -> list[bytes]:
        """Those of a repository's partitions in which there is something: the others would be looked at in vain."""
        return [p for p in partitions(repo) if self.kv.about_rows(p)]

    def _wall(self) -> float:
        return self._clock.now().timestamp()

    def _note(self) -> None:
        # Looked up anew: processes are older than whoever watches.
        self.changed()
