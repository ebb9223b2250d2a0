"""Every flow that writes, as a function of a handle, and what can be seen of a world: for tests that break in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cache

import pyarrow as pa

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.engine.compacting import compaction
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.store import Store
from graveler_core.model.ids import BranchId, RepositoryId
from tests.unit.engine.world import World, entry

Flow = Callable[[World, Graveler], object]


@cache
def _first() -> World:
    """Two branches that diverged, `main` with staged changes, `clean` without, one with one staged entry; a tag;
    another repository.
    """
    world = World()
    repo = world.repository()
    main = repo.branch("main")
    main.stage_many(table({"x": 0, "y": 0, "p/1": 0, "p/2": 0}))
    main.commit("base")
    repo.create_tag("v1", "main")
    dev = repo.create_branch("dev", "main")
    repo.create_branch("clean", "main")
    dev.stage("x", entry(1))
    dev.commit("on dev")
    main.stage("y", entry(2))
    main.remove("p/1")
    main.remove_prefix("q/")
    main.stage("s", entry(3))
    repo.create_branch("one", "clean").stage("k", entry(4))
    world.repository("other")
    return world


def prepared() -> World:
    """A world of its own with two branches that diverged, `main` with staged changes, `clean` without, and a tag."""
    return _first().fork()


def table(rows: dict[str, int]) -> pa.Table:
    """Paths and numbers as a table for `stage_many`."""
    found = [entry(number) for number in rows.values()]
    columns = {name: [getattr(e, name) for e in found] for name in ("address", "size", "checksum", "content_type")}
    metadata = pa.array([list(e.metadata.items()) for e in found], pa.map_(pa.string(), pa.string()))
    return pa.table({"key": pa.array(list(rows), pa.string()), **columns, "metadata": metadata})


def raw() -> str:
    """A place in an object store with something to import: `k` and `other`."""
    uri = "memory://lake-of-flows/raw"
    blobs = OpenedBlobs().at(uri)
    for key, data in {"k": b"12345", "other": b"123456"}.items():
        blobs.create(key, data)
    return uri


MANY = {f"many/{n:04}": n for n in range(1_100)}

FLOWS: dict[str, Flow] = {
    "stage": lambda w, g: g.repository("repo").branch("main").stage("k", entry(5)),
    "put": lambda w, g: g.repository("repo").branch("main").put("k", b"data"),
    "remove": lambda w, g: g.repository("repo").branch("main").remove("x"),
    "remove what is staged": lambda w, g: g.repository("repo").branch("one").remove("k"),
    "stage few": lambda w, g: g.repository("repo").branch("main").stage_many(table({"k": 5, "l": 6})),
    "stage many": lambda w, g: g.repository("repo").branch("clean").stage_many(table(MANY)),
    "remove prefix": lambda w, g: g.repository("repo").branch("main").remove_prefix("p/"),
    "reset": lambda w, g: g.repository("repo").branch("main").reset(),
    "reset prefix": lambda w, g: g.repository("repo").branch("main").reset("p/"),
    "hard reset": lambda w, g: g.repository("repo").branch("clean").hard_reset("clean~1"),
    "commit": lambda w, g: g.repository("repo").branch("main").commit("m"),
    "empty commit": lambda w, g: g.repository("repo").branch("clean").commit("m", allow_empty=True),
    "keyed commit": lambda w, g: g.repository("repo").branch("main").commit("m", idempotency_key="run"),
    "merge": lambda w, g: g.repository("repo").merge("dev", into="clean"),
    "squash": lambda w, g: g.repository("repo").merge("dev", into="clean", squash=True),
    "merge repeated": lambda w, g: g.repository("repo").merge("dev", into="clean", replay=True),
    "import": lambda w, g: g.repository("repo").import_prefix(raw(), "main", "imported"),
    "import replacing": lambda w, g: g.repository("repo").import_prefix(raw(), "clean", "p", mode="replace"),
    "compact": lambda w, g: compaction.compact(g._stores, RepositoryId("repo"), BranchId("main"), timedelta(0)),
    "create branch": lambda w, g: g.repository("repo").create_branch("new", "dev"),
    "delete branch": lambda w, g: g.repository("repo").delete_branch("dev"),
    "create tag": lambda w, g: g.repository("repo").create_tag("v2", "dev"),
    "delete tag": lambda w, g: g.repository("repo").delete_tag("v1"),
    "create repository": lambda w, g: g.create_repository("third", w.namespace("third"), adopt=True),
    "create bare": lambda w, g: g.create_bare_repository("third", w.namespace("third"), adopt=True),
    "delete repository": lambda w, g: g.delete_repository("other"),
}


def run(flow: str, world: World, kv: Store | None = None) -> object:
    """Run a flow as another process, perhaps on a wrapper of the store."""
    return FLOWS[flow](world, world.graveler(kv))


def seen(world: World) -> dict[str, object]:
    """All that a user can see, told by content, not by ids."""
    g = world.graveler()
    state: dict[str, object] = {"repositories": [repo.id for repo in g.list_repositories()]}
    for repo in g.list_repositories():
        state[f"tags of {repo.id}"] = [tag.id for tag in repo.tags()]
        for branch in repo.branches():
            for ref in (branch.id, f"{branch.id}@"):
                shown = [(item.path, getattr(item, "size", None)) for item in repo.at(ref).list()]
                state[f"{repo.id}/{ref}"] = shown
            state[f"log of {repo.id}/{branch.id}"] = [commit.message for commit in repo.log(branch.id)]
    return state
