"""The port of every key-value store: small byte values under (partition, key), with compare-and-swap.

Everything that changes in graveler lives behind this protocol: records, staged entries, counters. The layers above know
keys and meanings (`graveler_core.records`); a store knows bytes only. Backends are in `graveler_core.kv.backends`, what
a store may do faster than one key at a time is in `graveler_core.kv.abilities`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol, final

from graveler_core.errors import PredicateFailed


@final
@dataclass(frozen=True, slots=True)
class Predicate:
    """What a compare-and-swap expects to find. Opaque: made by stores, handed back by callers, never built by them.

    The stores of this library put the *value* that was read into it, not a version: it needs no second column and no
    version to migrate, every database can compare it, and a record is some hundred bytes, so sending it back costs
    nothing that can be measured against the write. The price is that equal values are equal: a record that went from A
    to B and back to A satisfies a predicate on A. Where that matters the record carries a nonce (the lifecycle records
    do), as it must on stores whose versions are of a lifetime too. A plug-in may use a version or an etag instead.
    """

    token: bytes | None


EXISTS: Final = Predicate(None)
"""The predicate that any present key satisfies, whatever its value."""


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """A value that `get` found, and the predicate that holds as long as nobody changed it."""

    value: bytes
    predicate: Predicate


@final
@dataclass(frozen=True, slots=True)
class KeyValue:
    """One row of a scan."""

    key: bytes
    value: bytes
    predicate: Predicate


class Store(Protocol):
    """A key-value store. Safe to use from several threads at once.

    Order: keys of a partition are ordered as unsigned bytes; partitions have no order and cannot be listed.
    Atomicity: each method but `scan` is one atomic, linearizable step; a write is durable when it returns.
    Limits (`graveler_core.kv.limits`) hold for every method: LimitExceeded beyond them, InvalidInput for an empty
    partition or key. An empty value is a value.
    Errors of all methods: SlowDown (nothing changed, repeat later), Unavailable (cannot be reached or written),
    CorruptData; and of the writing ones: OutcomeUnknown (it may have happened), PredicateFailed where said.
    """

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        """The value and its predicate, or None. Observes every write acknowledged before the call, whatever scans are
        open: one statement, its own snapshot."""
        ...

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        """Writes the value, whatever was there."""
        ...

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        """Writes the value if the predicate holds, in one atomic step, and returns the predicate of what was written.

        None means "must not exist", EXISTS "must exist", any other one "unchanged since it was read".

        Raises:
            PredicateFailed: It does not hold; nothing was written.
        """
        ...

    def delete(self, partition: bytes, key: bytes) -> None:
        """Removes the key; an absent key is no error. Only for what is never created again under the same key."""
        ...

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        """Removes the key if the predicate holds, in one atomic step; an absent key fails every predicate.

        Raises:
            PredicateFailed: It does not hold; nothing was removed.
        """
        ...

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        """The rows whose keys start with `prefix` and lie in [start, end), in byte order, at most `limit`. Lazy.

        `start` and `end` are whole keys. Not a snapshot: pages of at most 10,000 rows or 4 MiB are read one by one, and
        no transaction is kept between them. A key that is present from the first step to the last is yielded exactly
        once, with a value it had meanwhile; one that is created or removed meanwhile is yielded once or not at all.
        """
        ...

    def close(self) -> None:
        """Gives back connections and files. Idempotent; any other call afterwards raises Unavailable."""
        ...


def predicate_failed(partition: bytes, key: bytes, predicate: Predicate | None) -> PredicateFailed:
    """The error that every store raises when a compare-and-swap loses."""
    if predicate is None:
        expected = "to be absent"
    elif predicate == EXISTS:
        expected = "to be present"
    else:
        expected = "unchanged since it was read"
    return PredicateFailed(
        f"key {key!r} of partition {partition!r} was expected {expected}", partition=partition, key=key
    )
