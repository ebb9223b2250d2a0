"""The server goes away in the middle of work, politely and not, and comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from graveler_core.errors import Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.backends.etcd.store import open_etcd
from tests.servers.appenders import append_during
from tests.servers.etcd import etcd_server
from tests.servers.process import ServerProcess


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with etcd_server() as started:
        yield started


def restarting(server: ServerProcess, end: Callable[[ServerProcess], None]) -> Callable[[], None]:
    def restart() -> None:
        end(server)
        server.start()

    return restart


def test_swaps_are_neither_lost_nor_doubled(server: ServerProcess) -> None:
    """Reads and writes resume by themselves; a swap in flight is done once, or not, and is never reported wrongly."""
    with closing(open_etcd(f"etcd://127.0.0.1:{server.port}/swaps")) as store:
        ends = (ServerProcess.stop, ServerProcess.kill, ServerProcess.kill, ServerProcess.kill)
        append_during(store, [restarting(server, end) for end in ends])


def test_a_server_that_is_away(server: ServerProcess) -> None:
    """Nothing is sent, so no outcome is unknown; the store that was open before works again afterwards."""
    url = f"etcd://127.0.0.1:{server.port}/away"
    store = open_etcd(url)
    predicate = store.set_if(b"p", b"k", b"old", None)
    server.kill()
    try:
        with pytest.raises(Unavailable):
            store.get(b"p", b"k")
        with pytest.raises(Unavailable):
            store.set_if(b"p", b"k", b"new", predicate)
        with pytest.raises(Unavailable):
            open_etcd(url)
    finally:
        server.start()
    store.set_if(b"p", b"k", b"new", predicate)
    assert [row.value for row in store.scan(b"p", prefix=b"k")] == [b"new"]
    store.close()


def test_a_scan_goes_on_behind_a_restart(server: ServerProcess) -> None:
    with closing(open_etcd(f"etcd://127.0.0.1:{server.port}/scan")) as store:
        bulk.set_many(store, [(b"q", b"%04d" % n, b"v" * 50_000) for n in range(200)])
        rows = store.scan(b"q")
        seen = [next(rows).key]
        restarting(server, ServerProcess.kill)()
        seen += [row.key for row in rows]
        assert seen == [b"%04d" % n for n in range(200)]
