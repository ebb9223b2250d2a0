"""The world that actors live in: stores whose every call is a scheduling point, logical time, repeatable chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar

import greenlet

from graveler_core.blobs.port import BlobInfo, Data
from graveler_core.committed.index.indexes import Sizes
from graveler_core.errors import Kind, NotFound, OutcomeUnknown, SlowDown
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import KeyValue, Predicate, Store
from graveler_core.kv.wrappers.passing import Call, Passing
from graveler_core.model.address import relative_address
from graveler_core.segments.boundary import Cutting
from graveler_core.stores import RetryBudget, Stores
from graveler_core.testing.plain_store import PlainStore
from tests.simulation.schedule import Fate, Scheduler

T = TypeVar("T")
U = TypeVar("U")
START = datetime(2026, 1, 1, tzinfo=UTC)
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
SCAN_ROWS = 2


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

    def step(self, call: Call, work: Callable[[], T]) -> T:
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
            page = self.step(Call("scan", partition, at), read)
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
    if fate is Fate.LATE and not what.startswith("create "):
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


class SimBlobs:
    """An object store in a dictionary, each call scheduled."""

    def __init__(self, held: dict[str, bytes], scheduler: Steps, namespace: str = "") -> None:
        self._held = held
        self._scheduler = scheduler
        self._namespace = namespace

    def at(self, namespace: str) -> SimBlobs:
        """One storage namespace."""
        return SimBlobs(self._held, self._scheduler, namespace.rstrip("/") + "/")

    def create(self, address: str, data: Data) -> bool:
        relative_address(address)
        return self._do(f"create {address}", lambda: self._create(self._namespace + address, bytes(data)), writes=True)

    def read(self, address: str) -> bytes:
        return self._do(f"read {address}", lambda: self._read(address))

    def read_range(self, address: str, start: int, length: int) -> bytes:
        return self.read(address)[start : start + length]

    def head(self, address: str) -> BlobInfo | None:
        at = self._namespace + address
        return self._do(f"head {address}", lambda: self._info(address) if at in self._held else None)

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        return iter(self._do(f"list {prefix}", lambda: self._list(prefix, after)))

    def delete(self, address: str) -> None:
        self._do(f"delete {address}", lambda: self._held.pop(self._namespace + address, None), writes=True)

    def renew(self, address: str) -> bool:
        return self._do(f"renew {address}", lambda: self._namespace + address in self._held, writes=True)

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
        return BlobInfo(address, len(self._held[self._namespace + address]), None, START)


@dataclass(frozen=True, slots=True)
class SimClock:
    """Logical time: a millisecond a step."""

    scheduler: Scheduler

    def now(self) -> datetime:
        return START + self.scheduler.ahead + timedelta(milliseconds=self.scheduler.step)

    def monotonic(self) -> float:
        return self.scheduler.step / 1_000

    def sleep(self, seconds: float) -> None:
        """Sleeping is giving way: how long is the scheduler's choice."""
        self.scheduler.give_way("sleep", writes=False)


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


@dataclass
class World:
    """What all processes share, and the stores of each of them."""

    scheduler: Scheduler
    changed: Callable[[], None] = lambda: None
    held: dict[str, bytes] = field(default_factory=dict)
    kv: Store = field(default_factory=lambda: open_memory("memory://"))

    def __post_init__(self) -> None:
        self._ids = SimIds(random.Random(self.scheduler.chance.getrandbits(64)))
        # Half of the histories run on a store that can do one key at a time and nothing more.
        self._inner = PlainStore(self.kv) if self.scheduler.chance.random() < 0.5 else self.kv

    def process(self) -> Stores:
        """The stores of a new process: nothing cached."""
        return Stores(
            kv=SimStore(self._inner, self.scheduler, self._note),
            blobs=SimBlobs(self.held, self.scheduler),
            clock=SimClock(self.scheduler),
            ids=self._ids,
            executor=Serial(),
            cutting=TINY,
            sizes=TINY_SIZES,
            retry_budget=RetryBudget(total=1e9),
        )

    def _note(self) -> None:
        # Looked up anew: processes are older than whoever watches.
        self.changed()
