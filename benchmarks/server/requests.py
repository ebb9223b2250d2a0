"""Small requests: their time one by one, and their rate with eight clients at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Final

from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from benchmarks.server.servers import REPOSITORY, Refused, Served, ServerConnection, serving

_CLIENTS: Final = 8
_ROUNDS: Final = 5
_IN_TURN: Final = 20
"""Requests to one server before those to the next."""
_OBJECTS: Final = 1_000
"""Objects that are committed before, or fewer if few requests are measured."""
_SECONDS: Final = 2.0
"""Time of one measurement of a rate, or less if few requests are measured."""
_CONTENT: Final = b"x" * 100
_BRANCH: Final = f"/{REPOSITORY}/branches/main"
_REF: Final = f"/{REPOSITORY}/refs/main/objects"

Request = Callable[[ServerConnection, random.Random], object]


def _reads(objects: int) -> dict[str, Request]:
    """Return the reads of a branch with some objects, by name."""

    def stat(connection: ServerConnection, chance: random.Random) -> object:
        return connection.send("GET", f"{_REF}/stat?path=load/{chance.randrange(objects):06}")

    def listing(connection: ServerConnection, chance: random.Random) -> object:
        return connection.send("GET", f"{_REF}/ls?prefix=load/&amount=100&after=load/{chance.randrange(objects):06}")

    return {"stat": stat, "list 100": listing}


def _put(connection: ServerConnection, chance: random.Random) -> object:
    return connection.send("POST", f"{_BRANCH}/objects?path=new/{chance.getrandbits(60):015x}", _CONTENT)


def _commit(connection: ServerConnection, chance: random.Random) -> object:
    return connection.send("POST", f"{_BRANCH}/commits", {"message": "bench"})


def _put_and_commit(connection: ServerConnection, chance: random.Random) -> object:
    """Put an object and commit it. Return `None` if the server gives up because of other committers.

    If another client has committed the object, there may be nothing to commit (status 400).
    """
    try:
        _put(connection, chance)
        return _commit(connection, chance)
    except Refused as refused:
        return None if refused.status != 400 else refused


def nothing(place: Place) -> None:
    """Prepare nothing: the servers run in the measuring process only."""


@scenario("server", nothing, sizes=(200,), counts="requests")
def small_requests(place: Place) -> Iterator[Measured]:
    """Time of each request, and requests per second."""
    objects = min(_OBJECTS, 5 * place.size)
    requests = {**_reads(objects), "put 100 bytes": _put}
    with serving(place) as servers, ExitStack() as stack:
        connections = {served: stack.enter_context(served.connect()) for served in servers}
        for connection in connections.values():
            for number in range(objects):
                connection.send("POST", f"{_BRANCH}/objects?path=load/{number:06}", _CONTENT)
            connection.send("POST", f"{_BRANCH}/commits", {"message": "load"})
        for name, request in requests.items():
            yield from _times(name, request, connections, place.size)
        yield from _commits(connections, place.size // 4)
        requests["put 100 bytes and commit"] = _put_and_commit
        for name, request in requests.items():
            yield from _rates(name, request, servers, min(_SECONDS, place.size / 100))


def _times(
    name: str, request: Request, connections: Mapping[Served, ServerConnection], count: int
) -> Iterator[Measured]:
    chance = random.Random(1)
    found = dict.fromkeys(connections, Clocked())
    for _ in range(max(1, count // _IN_TURN)):
        for served, connection in connections.items():
            connection.open_again()
            request(connection, chance)
            found[served] += clocked(lambda connection=connection: request(connection, chance), _IN_TURN)  # type: ignore[misc]
    for served, times in found.items():
        yield Measured(served.row(name), "ms", times.wall)


def _commits(connections: Mapping[Served, ServerConnection], count: int) -> Iterator[Measured]:
    """Measure commits of one staged object."""
    chance = random.Random(2)
    found = dict.fromkeys(connections, Clocked())
    for _ in range(count):
        for served, connection in connections.items():
            connection.open_again()
            _put(connection, chance)
            found[served] += clocked(lambda connection=connection: _commit(connection, chance))  # type: ignore[misc]
    for served, times in found.items():
        yield Measured(served.row("commit of 1 object"), "ms", times.wall)


def _rates(name: str, request: Request, servers: list[Served], seconds: float) -> Iterator[Measured]:
    found: dict[Served, list[float]] = {served: [] for served in servers}
    for _ in range(_ROUNDS):
        for served in servers:
            found[served].append(_rate(served, request, seconds))
    for served, rates in found.items():
        yield Measured(served.row(f"{name}, {_CLIENTS} clients"), "per s", tuple(rates))


def _rate(served: Served, request: Request, seconds: float) -> float:
    """Return the answered requests per second of several clients at once."""
    counts, errors = [0] * _CLIENTS, list[Exception]()
    begun = time.perf_counter()

    def work(client: int) -> None:
        chance = random.Random(random.getrandbits(60))
        try:
            with served.connect() as connection:
                while time.perf_counter() < begun + seconds:
                    counts[client] += request(connection, chance) is not None
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(client,)) for client in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sum(counts) / (time.perf_counter() - begun)
