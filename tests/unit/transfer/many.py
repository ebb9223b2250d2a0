"""Histories of many commits, written as records: nobody waits for so many commits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from graveler_core.codec.elements import Element, ElementAction, encode_elements
from graveler_core.codec.staged_record import encode_entry
from graveler_core.facade.repository import Repository
from graveler_core.kv.bulk import set_many
from graveler_core.model.entities import Commit, Layout, RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId, MetarangeId, Nonce, RepositoryId
from graveler_core.model.index import Index
from graveler_core.objects.commits import prepare
from graveler_core.objects.objects import Write
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from tests.unit.codec.entry_examples import FULL
from tests.unit.engine.world import START, World

INLINE = encode_elements([Element(b"a/path", ElementAction.ADD, encode_entry(FULL))])


def fill(world: World, repo: Repository, count: int) -> None:
    """A chain of commits on `main`, each with a merge parent now and then."""
    record = repositories.get(world.kv, world.clock, world.ids, RepositoryId(repo.id))
    head = repo.commit("main")
    tree = repo.at("main").tree_id()
    last = [(head.id, head.generation)]
    writes = _writes(record, last, tree, count)
    while batch := list(islice(writes, 5_000)):
        set_many(world.kv, batch)
    where = keys.branch(record, BranchId("main"))
    held = access.read(world.kv, where)
    assert held is not None
    access.write(world.kv, where, held.value.model_copy(update={"commit_id": last[-1][0]}))


def _writes(
    record: RepositoryRecord, last: list[tuple[CommitId, int]], tree: MetarangeId, count: int
) -> Iterator[Write]:
    """The writes of all commits, parents first; `last` are the last two, with their generations."""
    for number in range(count):
        parents = last[-1:] if number % 10 else last[::-1]
        header = Commit(
            committer="ada",
            message=f"commit {number}",
            creation_date=START,
            parents=tuple(id for id, _ in parents),
            generation=1 + max(generation for _, generation in parents),
            nonce=Nonce(f"{number:032x}"),
            operations="0" * 64,
        )
        stored, writes = prepare(record, header, Layout(index=Index(metarange_id=tree, inline=INLINE)))
        last[:] = [*last[-1:], (stored.id, header.generation)]
        yield from writes
