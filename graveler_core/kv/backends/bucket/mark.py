"""The mark of a store in a bucket, and the probes of a service that is to hold one.

The promises of the store rest on conditional writes, and on listings that are complete and in order. Not all services
with the interface of S3 have them, and some ignore conditions. So the first opening of a store tries them on objects of
its own, and writes the mark if they hold. Later openings read the mark.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Final
from uuid import uuid4

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.backends.bucket.names import RowNames, content_of
from graveler_core.kv.backends.bucket.requests import BucketRequests
from graveler_core.kv.backends.schema_mark import check_mark, mark_value, not_a_store
from graveler_core.kv.schema_versions import Migrations

MIGRATIONS: Final[Migrations] = ()
_RACERS: Final = 8
_ROUNDS: Final = 2


def prepare(requests: BucketRequests, names: RowNames, migrations: Migrations = MIGRATIONS) -> None:
    """Check that the objects below the root are a store. If there are none, probe the service and write the mark.

    Processes that open an empty store at the same time write the same mark. Objects are looked for before the mark is
    read again: objects of another process that are found were written after its mark, which is then found, too.

    Raises:
        Unavailable: Kind NotAGravelerStore: there are objects without the mark. Kind NewerSchema: a newer version of
            the library created the store. Kind StoreNotDurable: the service does not do what a store needs.
        GravelerError: The service refuses, or cannot be reached.
    """
    mark = requests.read(names.mark)
    if mark is None:
        others = _has_others(requests, names)
        mark = requests.read(names.mark)
        if mark is None and others:
            raise not_a_store(requests.shown, f"there are other objects below {names.root}")
    if mark is None:
        _probe(requests, f"{names.probes}/{uuid4().hex}")
        requests.create(names.mark, mark_value(migrations))
        mark = requests.read(names.mark)
    check_mark(b"" if mark is None else mark.content, migrations, requests.shown)


def _has_others(requests: BucketRequests, names: RowNames) -> bool:
    """Return true if there are objects below the root that are no probes."""
    listed = chain.from_iterable(requests.pages(names.root))
    return any(not found["path"].startswith(f"{names.probes}/") for found in listed)


def _probe(requests: BucketRequests, directory: str) -> None:
    """Try what the store needs, on objects of a directory, which are then deleted."""
    try:
        _probe_conditions(requests, directory)
        for number in range(_ROUNDS):
            _probe_races(requests, f"{directory}/race{number}!")
        _probe_listings(requests, directory)
    finally:
        requests.delete([found["path"] for page in requests.pages(directory) for found in page])


def _probe_conditions(requests: BucketRequests, directory: str) -> None:
    name, other, absent = (f"{directory}/{each}!" for each in ("name", "other", "absent"))
    first, elsewhere = (requests.create(each, content_of(b"k", b"first")) for each in (name, other))
    _require(requests, first is not None and elsewhere is not None, "it does not create objects that are absent")
    _require(requests, requests.create(name, content_of(b"k", b"again")) is None, "it created an object twice")
    last = content_of(b"k", b"second")
    second = requests.replace(name, last, first or "")
    _require(requests, second not in (None, first), "it does not replace an object that has not changed")
    for tag in (first, elsewhere):
        done = requests.replace(name, content_of(b"k", b"wrong"), tag or "")
        _require(requests, done is None, "it replaced an object that has changed")
    done = requests.replace(absent, content_of(b"k", b"wrong"), first or "")
    _require(requests, done is None, "it replaced an object that does not exist")
    held = requests.read(name)
    _require(requests, held is not None and (held.content, held.tag) == (last, second), "it returned old data")


def _probe_races(requests: BucketRequests, name: str) -> None:
    def race(send: Callable[[bytes], str | None], what: str) -> str:
        """Send requests at the same time, of which one must succeed, and return its tag."""
        contents = [content_of(b"k", b"v") for _ in range(_RACERS)]
        tags = requests.each(send, contents)
        won = [(content, tag) for content, tag in zip(contents, tags, strict=True) if tag]
        held = requests.read(name)
        done = len(won) == 1 and held is not None and (held.content, held.tag) == won[0]
        _require(requests, done, f"of several requests at the same time, not exactly one {what} an object")
        return won[0][1]

    tag = race(lambda content: requests.create(name, content), "created")
    race(lambda content: requests.replace(name, content, tag), "replaced")


def _probe_listings(requests: BucketRequests, directory: str) -> None:
    names = [f"{directory}/{tail}" for tail in ("00!", "00-/00!", "00-/0000!", "01!")]
    requests.each(lambda name: requests.put(name, content_of(b"k", b"v")), names)
    for after, expected in ((f"{directory}/0", names), (f"{directory}/00-/00", names[1:])):
        found = [found["path"] for page in requests.pages(directory, after) for found in page]
        _require(requests, found[: len(expected)] == expected, "its listings are incomplete or not in order")


def _require(requests: BucketRequests, holds: bool, otherwise: str) -> None:
    if not holds:
        raise Unavailable(
            f"{requests.shown} cannot hold a store: {otherwise}; use a service with conditional writes",
            kind=Kind.StoreNotDurable,
            store=requests.shown,
        )
