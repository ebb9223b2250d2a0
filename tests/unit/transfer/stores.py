"""A store with something of everything, and what tests of copies look at."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_origin, get_type_hints

from graveler_core.codec.records import encode
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.kv.store import Store
from graveler_core.model.copying import Copying
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.ids import ObjectId, RepositoryId, RepositoryUid, StagingToken
from graveler_core.model.layers import SealedToken
from graveler_core.records import iam_layout
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder, Location
from tests.unit.engine.flows import table
from tests.unit.engine.world import World, entry
from tests.unit.records.samples import RECORDS, REPOSITORY

Rows = dict[bytes, dict[bytes, bytes]]
LAYOUTS = (keys.__name__, iam_layout.__name__)
"""Where keys are built."""


def rows(kv: Store) -> Rows:
    """All that a store in memory holds, by partition and key."""
    assert isinstance(kv, MemoryStore)
    partitions = kv._memory.partitions
    found = {name: {row.key: row.value for row in kv.scan(name)} for name in sorted(partitions)}
    return {name: held for name, held in found.items() if held}


def lived_in(kv: Store | None = None, staged: int = 3) -> World:
    """Two repositories, one of them with branches in all states; one deleted, one bare, one that was never finished."""
    world = World() if kv is None else World(kv=kv)
    repo = world.repository()
    main = repo.branch("main")
    for number in range(4):
        main.stage(f"p/{number}", entry(number))
        main.commit(f"commit {number}")
    repo.create_tag("v1", "main~1", message="first")
    dev = repo.create_branch("dev", "main")
    dev.stage_many(table({f"q/{n:05}": n for n in range(staged)}))
    dev.stage("r", entry(1))
    dev.remove_prefix("p/")
    dev.stage("s", entry(2))
    repo.create_branch("gone", "main").stage("x", entry(1))
    repo.delete_branch("gone")
    dev.compact()
    dev.stage("t", entry(3))
    world.repository("deleted").branch("main").stage("x", entry(1))
    world.graveler().delete_repository("deleted")
    world.graveler().create_bare_repository("bare", world.namespace("bare"))
    world.repository("other").branch("main").stage("y", entry(2))
    return world


def planted(kv: Store) -> None:
    """A record under every kind of key that `LAYOUTS` build."""
    cleanup = RECORDS["cleanup"].model_copy(update={"layer": SealedToken(token=StagingToken("repo/main:retired"))})
    for location, value in [(keys.cleanup(REPOSITORY, "repo/main:retired"), encode(cleanup)), *located()]:
        kv.set(location.partition, location.key, value)
    branch = BranchRecord.model_validate(RECORDS["branch"])
    tokens = [branch.staging_token, *(layer.token for layer in branch.sealed_tokens if isinstance(layer, SealedToken))]
    for token in (*tokens, StagingToken("repo/main:retired")):
        kv.set(keys.staging(token), keys.staged(b"x"), b"\x01\x01")
    for byte, partition in enumerate(keys.object_partitions(REPOSITORY)):
        where, key = keys.stored_object(REPOSITORY, ObjectId(f"{byte:02x}" * 32))
        assert where == partition
        kv.set(partition, key, b"")
    alone = [value for name, value in vars(keys).items() if isinstance(value, bytes) and value.startswith(b"graveler")]
    for partition in alone:
        if partition != keys.COPY:
            kv.set(partition, b"something", b"\x00\xff")


def located() -> list[tuple[Location[Any], bytes]]:
    """One place of every kind of record, and a record of that kind; where there is no sample of it, something."""
    samples = {type(record): encode(record) for record in RECORDS.values()}
    return [(where, samples.get(where.model, b"\x00\xff")) for where in _locations() if where.model is not Copying]


def _locations() -> Iterator[Location[Any]]:
    for name, value in [*vars(keys).items(), *vars(iam_layout).items()]:
        if isinstance(value, Location):
            yield value
        elif isinstance(value, Folder):
            yield value.at("repo")
        elif inspect.isfunction(value) and value.__module__ in LAYOUTS and not name.startswith("_"):
            types = get_type_hints(value)
            kind = types.pop("return")
            if getattr(get_origin(kind) or kind, "__module__", "") in (keys.__name__, Location.__module__):
                yield from _within(value(**{name: _argument(name, kind) for name, kind in types.items()}))


def _within(found: object) -> Iterator[Location[Any]]:
    """A place itself, one in a folder, or one in each of several folders."""
    if isinstance(found, Location):
        yield found
    elif isinstance(found, Folder):
        yield found.at("main")
    elif is_dataclass(found):
        for field in fields(found):
            yield from _within(getattr(found, field.name))


def _argument(name: str, kind: object) -> RepositoryRecord | str:
    if name == "key":
        return f"{iam_layout.USERS.prefix.decode()}main"
    return {RepositoryRecord: REPOSITORY, RepositoryId: REPOSITORY.id, RepositoryUid: REPOSITORY.uid}.get(kind, "main")
