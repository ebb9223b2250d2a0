"""The server goes away in the middle of work, politely and not, and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from graveler_core.errors import Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.backends.postgresql.sessions import parse_url
from graveler_core.kv.backends.postgresql.store import open_postgresql
from graveler_core.kv.backends.postgresql.turns import AdvisoryTurns
from tests.postgresql_server import OwnServer, own_server
from tests.servers.appenders import append_during
from tests.servers.process import free_port
from tests.tcp_timers import asked_in


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with own_server() as started:
        yield started


def test_swaps_are_neither_lost_nor_doubled(server: OwnServer) -> None:
    """Reads and writes resume by themselves; a swap in flight is done once, or not, and is never reported wrongly."""

    def restart(mode: str) -> None:
        server.stop(mode)
        server.start()

    with closing(open_postgresql(server.url)) as store:
        append_during(store, [partial(restart, mode) for mode in ("fast", "immediate", "fast", "immediate")])


def test_a_server_that_is_away(server: OwnServer) -> None:
    """Nothing is sent, so no outcome is unknown; the store that was open before works again afterwards."""
    store = open_postgresql(server.url)
    store.set(b"p", b"k", b"old")
    found = store.get(b"p", b"k")
    assert found is not None
    server.stop("fast")
    try:
        with pytest.raises(Unavailable):
            store.get(b"p", b"k")
        with pytest.raises(Unavailable):
            store.set_if(b"p", b"k", b"new", found.predicate)
        with pytest.raises(Unavailable):
            open_postgresql(server.url)
    finally:
        server.start()
    store.set_if(b"p", b"k", b"new", found.predicate)
    assert [row.value for row in store.scan(b"p", prefix=b"k")] == [b"new"]
    store.close()


def test_a_scan_goes_on_behind_a_restart(server: OwnServer) -> None:
    """It keeps no transaction between its pages."""
    store = open_postgresql(server.url)
    bulk.set_many(store, [(b"q", b"%04d" % n, b"v" * 50_000) for n in range(200)])
    rows = store.scan(b"q")
    seen = [next(rows).key]
    server.stop("immediate")
    server.start()
    seen += [row.key for row in rows]
    assert seen == [b"%04d" % n for n in range(200)]
    store.close()


def test_the_machine_of_who_has_a_turn_is_asked_whether_it_is_there(server: OwnServer) -> None:
    """Else the turn of a machine whose network is gone would be taken for hours, by the settings of most systems."""
    port = free_port()
    server.stop("fast")
    server.listen(port)
    try:
        turns = AdvisoryTurns(parse_url(f"postgresql://postgres@127.0.0.1:{port}/postgres?gssencmode=disable"))
        with turns.turn("repo/main", 60):
            assert 0 < asked_in(port, of_server=True) <= 30
        turns.close()
    finally:
        server.stop("fast")
        server.start()
