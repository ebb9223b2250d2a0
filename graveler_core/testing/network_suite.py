"""Test suite for stores beyond a network: each message of each verb is lost in turn.

The test class of a store inherits it and defines two fixtures. `network` is a proxy before the store's server, and
`opener` opens the store through it:

    class TestNetwork(NetworkSuite):
        @pytest.fixture
        def network(self) -> Iterator[LossyNetwork]:
            with lossy_network(SERVER_PORT) as network:
                yield network

        @pytest.fixture
        def opener(self, network: LossyNetwork) -> Opener:
            return lambda: open_mine(f"mine://127.0.0.1:{network.port}/{uuid4()}?timeout=3")

`opener` sets a time-out of a few seconds, because an answer that does not come is one of the faults. Each test starts
with empty data. As in `StoreSuite`, no test may be skipped, overridden or expected to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Final

import pyarrow as pa
import pytest

from graveler_core.errors import GravelerError, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.store import EXISTS, Predicate, Store
from graveler_core.testing.lossy_network import Cut, LossyNetwork
from graveler_core.testing.sealed import Sealed
from graveler_core.testing.store_cases.scans import numbered
from graveler_core.testing.store_cases.values import predicate_of

Rows = dict[bytes, bytes]

BEFORE: Final[Rows] = {b"a": b"1", b"b": b"2"}
_KEYS: Final = numbered(range(6))
_MOST: Final = 50
"""Number of messages of one call that no store needs."""
_PARTS: Final = 8
"""Number of parts of an answer after each of which the connection is cut."""
_PATIENCE: Final = 60
"""Seconds after which a store must have given up a connection over which nothing arrives."""

WRITES: Final[dict[str, tuple[Callable[[Store, Predicate], object], Rows]]] = {
    "set": (lambda store, _: store.set(b"p", b"a", b"new"), {**BEFORE, b"a": b"new"}),
    "create": (lambda store, _: store.set_if(b"p", b"c", b"new", None), {**BEFORE, b"c": b"new"}),
    "replace": (lambda store, _: store.set_if(b"p", b"a", b"new", EXISTS), {**BEFORE, b"a": b"new"}),
    "swap": (lambda store, a: store.set_if(b"p", b"a", b"new", a), {**BEFORE, b"a": b"new"}),
    "delete": (lambda store, _: store.delete(b"p", b"a"), {b"b": b"2"}),
    "delete_if": (lambda store, a: store.delete_if(b"p", b"a", a), {b"b": b"2"}),
    "delete_together": (
        lambda store, a: bulk.delete_together(store, [(b"p", b"a", a)], [(b"p", b"b", EXISTS)]),
        {b"b": b"2"},
    ),
    "set_many": (
        lambda store, _: bulk.set_many(store, [(b"p", b"a", b"new"), (b"p", b"c", b"new")]),
        {**BEFORE, b"a": b"new", b"c": b"new"},
    ),
    "write_and_swap": (
        lambda store, a: bulk.write_and_swap(
            store, [(b"p", b"c", b"new"), (b"p", b"d", b"new")], (b"p", b"a", b"new"), a
        ),
        {**BEFORE, b"a": b"new", b"c": b"new", b"d": b"new"},
    ),
    "load": (
        lambda store, _: bulk.load(store, b"p", pa.array(_KEYS, pa.binary()), pa.array(_KEYS, pa.binary())),
        {**BEFORE, **{key: key for key in _KEYS}},
    ),
    "drop_partition": (lambda store, _: bulk.drop_partition(store, b"p"), {}),
}
"""Each write, as a function of the store and the predicate of `a`, and the rows that it makes of `BEFORE`."""
READS: Final[dict[str, Callable[[Store], object]]] = {
    "get": lambda store: store.get(b"p", b"a"),
    "get_many": lambda store: bulk.get_many(store, [(b"p", b"b"), (b"p", b"c"), (b"p", b"a")]),
    "scan": lambda store: list(store.scan(b"p")),
    "scan_arrow": lambda store: [batch.to_pylist() for batch in bulk.scan_arrow(store, b"p")],
    "split_points": lambda store: bulk.split_points(store, b"p", 2),
    "about_rows": lambda store: bulk.about_rows(store, b"p"),
}


class NetworkSuite(metaclass=Sealed):
    """Tests of what a store tells when a message is lost: never that a write has failed if it may have happened."""

    @pytest.fixture
    def network(self) -> Iterator[LossyNetwork]:
        """Return the network before the server. Subclasses define this fixture."""
        raise NotImplementedError("the test class of a store must define the fixture `network`")

    @pytest.fixture
    def opener(self) -> Callable[[], Store]:
        """Return a function that opens the store through the network. Subclasses define this fixture."""
        raise NotImplementedError("the test class of a store must define the fixture `opener`")

    @pytest.fixture
    def store(self, opener: Callable[[], Store]) -> Iterator[Store]:
        opened = opener()
        yield opened
        opened.close()

    @pytest.mark.parametrize("fault", [Cut.REQUEST, Cut.ANSWER])
    @pytest.mark.parametrize("verb", WRITES)
    def test_a_write_is_never_reported_wrongly(
        self, store: Store, network: LossyNetwork, verb: str, fault: Cut
    ) -> None:
        """Each of its messages is lost in turn, until a call needs no further message."""
        write, after = WRITES[verb]
        if verb == "delete_together" and not store.deletes_together():
            return
        for message in range(_MOST):
            predicate = _restored(store)
            network.lose(fault, message)
            told = _told(partial(write, store, predicate))
            struck = network.heal()
            left = _rows(store)
            if not _is_right(told, left, after):
                assert told in (OutcomeUnknown, Unavailable, SlowDown)
                assert _may_be_partly_done(store, verb, left, after)
            if not struck:
                assert told is None
                assert message, "no message was sent"
                return
        pytest.fail(f"{verb} needs {_MOST} messages")

    @pytest.mark.parametrize("fault", [Cut.REQUEST, Cut.ANSWER])
    @pytest.mark.parametrize("verb", READS)
    def test_a_read_is_right_or_unavailable(self, store: Store, network: LossyNetwork, verb: str, fault: Cut) -> None:
        _restored(store)
        expected = READS[verb](store)
        for message in range(_MOST):
            network.lose(fault, message)
            found = expected
            with suppress(Unavailable, SlowDown):
                found = READS[verb](store)
            assert found == expected
            if not network.heal():
                assert message, "no message was sent"
                return
        pytest.fail(f"{verb} needs {_MOST} messages")

    def test_a_lost_answer_of_a_swap_is_reported(self, store: Store, network: LossyNetwork) -> None:
        """The store does not repeat it: the repetition would find what the first one has written, and fail."""
        predicate = _restored(store)
        network.lose(Cut.ANSWER)
        with pytest.raises(OutcomeUnknown):
            store.set_if(b"p", b"a", b"new", predicate)
        assert network.heal()
        assert _rows(store) == {**BEFORE, b"a": b"new"}

    def test_an_answer_that_does_not_come(self, store: Store, network: LossyNetwork) -> None:
        """The store does not wait for it without end."""
        predicate = _restored(store)
        network.lose(Cut.SILENCE)
        with pytest.raises(OutcomeUnknown):
            store.set_if(b"p", b"a", b"new", predicate)
        assert network.heal()
        assert _rows(store) == {**BEFORE, b"a": b"new"}
        network.lose(Cut.SILENCE)
        with suppress(Unavailable):
            found = store.get(b"p", b"a")
            assert found is not None
            assert found.value == b"new"
        assert network.heal()

    def test_a_part_of_an_answer_is_not_taken_for_one(self, store: Store, network: LossyNetwork) -> None:
        """Wherever the connection is cut. Clients of HTTP may take an answer without its end for an empty one."""
        for part in range(1, _PARTS):
            predicate = _restored(store)
            for verb in ("get", "get_many", "scan"):
                expected = READS[verb](store)
                network.lose(Cut.PART, part=part / _PARTS)
                with suppress(Unavailable, SlowDown):
                    assert READS[verb](store) == expected
                assert network.heal()
            network.lose(Cut.PART, part=part / _PARTS)
            told = _told(partial(store.set_if, b"p", b"a", b"new", predicate))
            assert network.heal()
            assert _is_right(told, _rows(store), {**BEFORE, b"a": b"new"})

    def test_a_silent_connection_is_given_up(self, store: Store, network: LossyNetwork) -> None:
        """It stays open, and nothing arrives over it any more. The store soon uses another one."""
        _restored(store)
        network.lose(Cut.SILENCE)
        deadline = monotonic() + _PATIENCE
        while _told(lambda: store.set(b"p", b"a", b"new")) is not None:
            assert monotonic() < deadline, "the store still uses the silent connection"
        assert _rows(store) == {**BEFORE, b"a": b"new"}
        assert network.heal()

    def test_connections_that_were_cut_are_made_again(self, store: Store, network: LossyNetwork) -> None:
        _restored(store)
        network.cut()
        assert _rows(store) == BEFORE
        network.cut()
        told = [_told(lambda: store.set(b"p", b"a", b"new")) for _ in range(2)]
        assert None in told
        assert _rows(store) == {**BEFORE, b"a": b"new"}


def _restored(store: Store) -> Predicate:
    """Write the rows `BEFORE`, remove all others, and return the predicate of `a`.

    The last write is a swap: a server that keeps programs by their names knows that of swaps then.
    """
    for row in list(store.scan(b"p")):
        if row.key not in BEFORE:
            store.delete(b"p", row.key)
    for key, value in BEFORE.items():
        store.set(b"p", key, value)
    return store.set_if(b"p", b"a", BEFORE[b"a"], predicate_of(store, b"a"))


def _rows(store: Store) -> Rows:
    return {row.key: row.value for row in store.scan(b"p")}


def _is_right(told: type[GravelerError] | None, left: Rows, after: Rows) -> bool:
    """Return true if a write has left the rows that its error allows. A connection may fail before it is sent."""
    if told is None:
        return left == after
    return left in (BEFORE, after) if told is OutcomeUnknown else told in (Unavailable, SlowDown) and left == BEFORE


def _may_be_partly_done(store: Store, verb: str, left: Rows, after: Rows) -> bool:
    """Return true if the write is not atomic, and each row is as it was or as it was to be."""
    if verb == "write_and_swap" and left.get(b"a") != BEFORE[b"a"]:
        return False
    if verb not in ("load", "drop_partition", "write_and_swap") and not (
        verb == "set_many" and not store.sets_atomically()
    ):
        return False
    return all(left.get(key) in (BEFORE.get(key), after.get(key)) for key in BEFORE.keys() | after.keys() | left.keys())


def _told(write: Callable[[], object]) -> type[GravelerError] | None:
    """Run a write, and return the class of its error."""
    try:
        write()
    except GravelerError as error:
        return type(error)
    return None
