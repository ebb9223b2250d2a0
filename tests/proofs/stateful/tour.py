"""One history that uses every part of the library, and all that can be read of it without ids and times of writing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import count

import pytest

from graveler_core.committed.index.indexes import Sizes
from graveler_core.engine.reading.view import commit_of
from graveler_core.engine.references.events import fold
from graveler_core.errors import Conflict, NoChanges
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Trouble
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Remove
from tests.proofs.stateful.tables import table_of
from tests.unit.engine import world as engine_world
from tests.unit.engine.importing.sources import lake
from tests.unit.engine.world import CountedIds, World, entry

_places = count()


def toured(sizes: Sizes) -> dict[str, object]:
    """Run the history with indexes of these sizes; return what is read on the way."""
    former, engine_world.TINY_SIZES = engine_world.TINY_SIZES, sizes
    try:
        return dict(_tour(World(), f"tour-{next(_places)}"))
    finally:
        engine_world.TINY_SIZES = former


def _tour(world: World, place: str) -> Iterator[tuple[str, object]]:
    world = World(world.kv, world.clock, world.ids, world.blobs, world.ranges, place)
    repo = world.repository()
    _commits(repo)
    yield from _read(world, repo, "commits")
    yield "conflicts", [(c.path, c.kind, c.base, c.source, c.destination) for c in repo.conflicts("dev@", "main@")]
    _merges(repo)
    _stages(repo)
    yield from _read(world, repo, "staged")
    yield from _compactions(repo)
    yield "imported", _imported(repo)
    yield from _read(world, repo, "imports")
    yield from _reference_log(world, repo)
    yield from _moved(world, repo)
    yield from _access(world)
    yield from _cleaned(world, repo)


def _commits(repo: Repository) -> None:
    """Commits of one entry, of a few and of many; two branches."""
    main = repo.branch("main")
    main.stage_many(_rows({f"a/{n:03}": n for n in range(70)}))
    main.commit("many")
    for number in range(4):
        main.stage(f"b/{number}", entry(number))
        if number % 2:
            main.remove(f"a/{number:03}")
        main.commit(f"small {number}")
    repo.create_branch("dev", "main")
    for number in range(3):
        main.stage(f"a/{10 + number:03}", entry(300 + number, 1))
        main.commit(f"ours {number}")
        repo.branch("dev").stage(f"a/{11 + number:03}", entry(400 + number))
        repo.branch("dev").commit(f"theirs {number}")
    repo.branch("dev").remove_many([f"a/{n:03}" for n in range(40, 46)])
    repo.branch("dev").commit("removals")
    repo.branch("dev").transact([Remove("a/055"), Remove("a/056")], message="transaction")


def _merges(repo: Repository) -> None:
    with pytest.raises(Conflict):
        repo.merge("dev@", "main")
    repo.merge("dev@", "main", strategy="source", message="merge", resolve={"a/011": None})
    repo.create_branch("squashed", "main~1")
    repo.merge("main@", "squashed", squash=True, message="squash")
    repo.create_branch("replayed", "dev~1")
    repo.cherry_pick("dev", "replayed")
    repo.revert("dev~1", "replayed")


def _stages(repo: Repository) -> None:
    """Tokens and layers of files, which hide each other and the tree below."""
    main = repo.branch("main")
    main.stage_many(_rows({f"s/{n:02}": n for n in range(20)} | {"a/001": 1}))
    main.stage("s/03", entry(33))
    main.remove_many(["s/04", "s/05", "a/065", "absent"])
    main.remove_prefix("a/06")
    main.stage_many(_rows({f"s/{n:02}": n + 50 for n in range(6, 9)}))
    main.reset("b/")
    main.stage("b/9", entry(9))


def _compactions(repo: Repository) -> Iterator[tuple[str, object]]:
    main = repo.branch("main")
    pressure = main.pressure(exact=True)
    yield "pressure", (pressure.load.staged, pressure.load.layers)
    main.compact()
    main.stage("after/compaction", entry(5))
    main.commit("on a compacted tree")
    main.stage("s/03", entry(3))
    main.reset()


def _imported(repo: Repository) -> list[object]:
    """All from a place; then less of it; then the same in the place of what is there."""
    uri = _lake()
    told: list[object] = []
    for options in ({}, {"include": ["x/*"], "mode": "replace"}, {"mode": "replace"}, {}):
        try:
            done = repo.import_prefix(uri, "main", "lake", message="import", **options)
            told.append((done.objects, done.size, done.changes))
        except NoChanges:
            told.append("no changes")
    return told


@cache
def _lake() -> str:
    """Return a place that all runs import from: entries name the objects and know their times."""
    return lake({f"{letter}/{n}": b"x" * n for letter in "xy" for n in range(5)}, "memory://lake-of-tours/raw")


def _reference_log(world: World, repo: Repository) -> Iterator[tuple[str, object]]:
    for number in range(5):
        repo.create_branch(f"brief-{number}", f"main~{number}").hard_reset("main")
        repo.create_tag(f"t{number}", f"main~{number}")
        repo.delete_branch(f"brief-{number}", message="enough")
        if number == 2:
            fold(world.stores(), repo._record)
            repo.undelete_branch("brief-1")
    events = [(e.kind, e.type, e.name, e.before is None, e.after is None) for e in repo.reflog()]
    yield "reflog", sorted(events)
    yield "reflog of a branch", sorted((e.kind, e.name) for e in repo.reflog("brief-2"))
    yield "checked references", sorted((str(check.branch), str(check.state)) for check in repo.check_references())
    yield "references", ([branch.id for branch in repo.branches()], [tag.id for tag in repo.tags()])


def _moved(world: World, repo: Repository) -> Iterator[tuple[str, object]]:
    """Into a file, and into a repository of the same files in another store."""
    uri = f"memory://{world.name}/dumps/1"
    repo.dump_refs(uri)
    other = World(ids=CountedIds(), blobs=world.blobs, name=world.name)
    restored = other.graveler().create_bare_repository(repo.id, repo.storage_namespace, adopt=True, ephemeral=True)
    restored.restore_refs(uri)
    yield from ((f"restored {name}", value) for name, value in _read(other, restored, "dump"))


def _access(world: World) -> Iterator[tuple[str, object]]:
    iam = world.graveler().iam
    iam.set_up("root")
    for number in range(4):
        iam.create_user(f"user{number}")
        iam.create_group(f"group{number}")
        iam.create_credential(f"user{number}")
    iam.create_credential("user1")
    yield "credentials", len(list(iam.credentials("user1")))
    for number in range(4):
        iam.add_member("group1", f"user{number}")
        iam.add_member(f"group{number}", "user3")
    iam.attach_policy("FSReadAll", group="group1")
    yield "members", [user.id for user in iam.members("group1")]
    yield "groups", [group.id for group in iam.groups_of("user3")]
    iam.delete_user("user3")
    iam.delete_group("group1")
    yield "users", [user.id for user in iam.users()]
    yield "groups left", [(group.id, [user.id for user in iam.members(group.id)]) for group in iam.groups()]


def _cleaned(world: World, repo: Repository) -> Iterator[tuple[str, object]]:
    """What is left over goes, and what is needed stays."""
    world.clock.sleep(40 * 24 * 3_600)
    repo.sweep()
    graveler = world.graveler()
    graveler.clean()
    yield "damage", [found for found in repo.fsck(deep=True) if found.trouble is not Trouble.UNREACHABLE]
    yield from _read(world, repo, "swept")
    world.clock.sleep(40 * 24 * 3_600)
    graveler.delete_repository(repo.id)
    world.clock.sleep(40 * 24 * 3_600)
    while (done := graveler.clean()).next is not None:
        pass
    yield "cleaned", done.failed


def _read(world: World, repo: Repository, when: str) -> Iterator[tuple[str, object]]:
    """All that a process reads that has cached nothing."""
    repo = world.graveler().repository(repo.id)
    for ref in ("main", "main@", "dev@", "main~2"):
        at = repo.at(ref)
        listed = list(at.list())
        yield f"{when}: {ref}", (at.tree_id(), listed, list(at.list("a/", limit=7)), list(at.list(delimiter="/")))
        yield f"{when}: {ref} one by one", [at.get(item.path) for item in listed[::20] if isinstance(item, Entry)]
    yield f"{when}: main as columns", repo.at("main").to_arrow().read_all().to_pylist()
    for left, right in (
        ("main~1", "main@"),
        ("main~1", "main~3"),
        ("dev@", "main@"),
        ("main@", "main"),
        ("dev", "main"),
    ):
        found = list(repo.diff(left, right)), list(repo.diff(left, right, "a/0"))
        yield f"{when}: {left}..{right}", (found, repo.diff_summary(left, right))
    main = repo.branch("main")
    yield f"{when}: uncommitted", (list(main.uncommitted()), list(main.uncommitted("s/", limit=3)))
    yield f"{when}: staged", {row.path: row.entry for row in main.staged()}
    for prefix in ("", "a/"):
        log = repo.log("main@", prefix=prefix, limit=6)
        told = [(c.message, len(c.parents), list(c.changes()), c.summary()) for c in log]
        yield f"{when}: log below {prefix!r}", told
    heads = [commit_of(world.stores(), repo._record, commit.id).header for commit in repo.log("main@")]
    yield f"{when}: digests", [(head.operations, head.generation) for head in heads]
    yield f"{when}: merge base", repo.merge_base("main", "dev").message


def _rows(numbers: Mapping[str, int]) -> object:
    return table_of({path: entry(number) for path, number in numbers.items()})
